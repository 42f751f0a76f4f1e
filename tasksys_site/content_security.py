"""The Content-Security-Policy of each page, and its one exception.

Nothing foreign, no inline script, no inline style; only the admin's theme, Alpine with expressions in attributes, cannot work
without 'unsafe-eval' and without style attributes. So /admin/ gets both, and nothing else does.
"""

from __future__ import annotations

from csp.constants import HEADER, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

ADMIN_PREFIX = "/admin/"

DIRECTIVES = {
    "default-src": [NONE],
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF, "data:", "blob:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "form-action": [SELF],
    "base-uri": [NONE],
    "frame-ancestors": [NONE],
    "manifest-src": [SELF],
}
ADMIN_ADDITIONS = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}


class ContentSecurityPolicy(CSPMiddleware):
    """The strict policy everywhere, with the additions under /admin/.

    Both are put together once, not for every answer; a view that asks for something of its own (django-csp's decorators, a
    nonce) gets it the ordinary way.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if _is_special(request, response):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, ADMIN_POLICY if request.path_info.startswith(ADMIN_PREFIX) else POLICY)
        return response

    def get_policy_parts(self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only and request.path_info.startswith(ADMIN_PREFIX):
            parts.update = {**(parts.update or {}), **ADMIN_ADDITIONS}
        return parts


def _is_special(request: HttpRequest, response: HttpResponseBase) -> bool:
    # Django's debug pages have scripts and styles of their own; django-csp knows them.
    is_debug_page = settings.DEBUG and response.status_code in (404, 500)
    return is_debug_page or hasattr(request, "_csp_nonce") or any(name.startswith("_csp_") for name in vars(response))


POLICY = build_policy(config=DIRECTIVES)
ADMIN_POLICY = build_policy(config=DIRECTIVES, update=ADMIN_ADDITIONS)

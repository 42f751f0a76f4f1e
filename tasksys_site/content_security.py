"""The Content-Security-Policy: one for every page.

Nothing foreign, no inline script, no inline style, no eval; also under /admin/, see `strict_theme`.
"""

from __future__ import annotations

from csp.constants import HEADER, NONE, SELF
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

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


class ContentSecurityPolicy(CSPMiddleware):
    """The policy is put together once, not for every answer; a view that asks for something of its own (django-csp's decorators,
    a nonce) gets it the ordinary way.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if _is_special(request, response):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, POLICY)
        return response


def _is_special(request: HttpRequest, response: HttpResponseBase) -> bool:
    # Django's debug pages have scripts and styles of their own; django-csp knows them.
    is_debug_page = settings.DEBUG and response.status_code in (404, 500)
    return is_debug_page or hasattr(request, "_csp_nonce") or any(name.startswith("_csp_") for name in vars(response))


POLICY = build_policy(config=DIRECTIVES)

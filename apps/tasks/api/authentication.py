"""`Authorization: Api-Key tsk_…`: who calls, and whether his key may do what he asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.tasks.api.problems import Problem
from apps.tasks.keys import KnownKey, recognise

if TYPE_CHECKING:  # the framework reads this module while it loads its views
    from rest_framework.views import APIView

SCHEME = "Api-Key"


class ApiKeyAuthentication(BaseAuthentication):
    """Looks the key up in the table that this process holds; queries nothing."""

    def authenticate(self, request: Request) -> tuple[KnownKey, None] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _space, text = header.partition(" ")
        if scheme.lower() != SCHEME.lower():
            raise AuthenticationFailed(_("The Authorization header must be: Api-Key tsk_…"))
        key = recognise(text.strip())
        if key is None:
            raise AuthenticationFailed(_("This API key is not known, or it was revoked."))
        return key, None

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class HasScope(BasePermission):
    """The view says which scope each method needs (`scopes`); a method without one is open to every key."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        key = request.user
        if not isinstance(key, KnownKey):
            raise Problem(
                "not_authenticated",
                _("Send the header Authorization: Api-Key tsk_…"),
                "header/Authorization",
                headers={"WWW-Authenticate": SCHEME},
            )
        scope = getattr(view, "scopes", {}).get(request.method)
        if scope is not None and scope not in key.scopes:
            raise Problem("scope_missing", _("This API key lacks the scope “%(scope)s”.") % {"scope": scope})
        return True

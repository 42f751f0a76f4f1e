"""`Authorization: Api-Key tsk_…`: who calls."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication

from apps.tasks.api.problems import Problem
from apps.tasks.keys import KnownKey, recognise

SCHEME = "Api-Key"
_STARTS = SCHEME.lower()


def key_of(request: HttpRequest) -> KnownKey:
    """The valid key that the request shows. Looks it up in the table that this process holds; queries nothing. Raises Problem."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    scheme, _space, text = header.partition(" ")
    if scheme.lower() == _STARTS:
        key = recognise(text.strip())
        if key is not None:
            return key
        raise _refusal(_("This API key is not known, or it was revoked."))
    raise _refusal(_("The Authorization header must be: Api-Key tsk_…") if header else _("Send the header Authorization: Api-Key tsk_…"))


def _refusal(sentence: str) -> Problem:
    return Problem("not_authenticated", sentence, "header/Authorization", headers={"WWW-Authenticate": SCHEME})


class ApiKeyAuthentication(BaseAuthentication):
    """By this name the schema knows how the views are opened; who opens them is `key_of`."""

    def authenticate_header(self, request: object) -> str:
        return SCHEME

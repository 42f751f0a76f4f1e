"""In which language a request is answered: sentences, and the texts of tasks.

It is chosen by the header; a call may choose another by `lang`. Asking Django which one is active costs more than noting it.
"""

from __future__ import annotations

from functools import lru_cache

from django.http import HttpRequest
from django.utils import translation


def speak(request: HttpRequest, language: str) -> None:
    """From now on, in the answer to this request."""
    translation.activate(language)
    request.LANGUAGE_CODE = language


@lru_cache(maxsize=1024)
def language_of(accept_language: str) -> str:
    """By the header alone: a logic server has no cookie."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = accept_language
    return translation.get_language_from_request(request)

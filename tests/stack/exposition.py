"""What Prometheus is told by this process."""

from __future__ import annotations

from django.http import HttpResponse
from django.test import Client

from tests.stack.waiting import eventually


def exposed(path: str, key: str) -> str:
    """The figures at this address. A key that was made just now is known a moment later."""

    def ask() -> HttpResponse | None:
        answer = Client().get(path, headers={"Authorization": f"Api-Key {key}"})
        return answer if answer.status_code == 200 else None

    found = eventually(ask)
    assert found is not None
    return found.content.decode()

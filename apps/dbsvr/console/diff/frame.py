"""What every page of Replica diff has in common: the frame of the console, who may change something, which numbers a request names."""

from __future__ import annotations

import time
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from apps.dbsvr.console import live
from apps.tasks.people.access import require
from apps.tasks.people.roles import REPAIR_REPLICA

MOST_CHOSEN = 100
"""Rows that one repair takes."""


def page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    found = live.look(time.time())
    shown = live.render(found, live.instance_named(None))
    frame = {"now": shown, "age_s": round(found.age_s, 1), "may": may_repair(request)}
    return render(request, template, {**frame, **context}, status=status)


def may_repair(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(REPAIR_REPLICA))  # type: ignore[union-attr]


def require_repair(request: HttpRequest) -> None:
    require(request, REPAIR_REPLICA)


def replicas() -> list[str]:
    return [replica.name for replica in live.configuration().databases.replicas]


def replica_named(name: str) -> str:
    if name not in replicas():
        raise Http404
    return name


def chosen(request: HttpRequest) -> list[int]:
    """The differences that a form or an address names, in its order, each once."""
    given = request.POST if request.method == "POST" else request.GET
    return list(dict.fromkeys(int(text) for text in given.getlist("id") if text.isdigit() and len(text) < 19))

"""Logic nodes that leave a step of INV 9 out, to see that the checker finds them out. Served by granian in the place of the true ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _broken(break_it: Callable[[], None]) -> Application:
    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        from tasksys_site.wsgi import application  # in the web process alone: who chooses a double has no Django

        break_it()
        return application(environ, start_response)

    return serve


def _settle_nothing() -> None:
    from apps.cachesync.nodes import CacheNode

    CacheNode.settle = lambda *_: "none"  # type: ignore[method-assign]


without_settle = _broken(_settle_nothing)

DOUBLES = {"without_settle": f"{__name__}:without_settle"}

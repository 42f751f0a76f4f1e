"""Who owns what, as the DBSvrs of a stack say."""

from __future__ import annotations

from typing import Any

from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.waiting import eventually
from workers.takeovers import SETTLE_S

OF_A, OF_B = SECOND_HALF - 1, SECOND_HALF + 1
"""A user of each."""


def segment(stack: PrivateStack, instance: str, name: str) -> dict[str, Any]:
    """As that instance sees it; empty while it does not answer."""
    stats = stack.stats(instance) or {}
    return stats.get("segments", {}).get(name, {})  # type: ignore[no-any-return,attr-defined]


def state_of(stack: PrivateStack, instance: str, name: str) -> str:
    return str(segment(stack, instance, name).get("state"))


def are_balanced(stack: PrivateStack) -> bool:
    """Each owns its half for sure, and reaches the other."""
    return all(state_of(stack, name, f"of-{name}") == "ours" for name in stack.dbsvrs) and all(
        peer["state"] == "up"
        for name in stack.dbsvrs
        for peer in (stack.stats(name) or {"peers": {"": {"state": "away"}}})["peers"].values()  # type: ignore[attr-defined]
    )


def wait_until_balanced(stack: PrivateStack, within_s: float = 30.0) -> None:
    def balanced() -> bool:
        seen = {name: {key: (stack.stats(name) or {}).get(key) for key in ("master", "segments", "peers")} for name in stack.dbsvrs}
        assert are_balanced(stack), f"not balanced: {seen}"
        return True

    eventually(balanced, within_s=within_s, every_s=0.05)


def causes(stack: PrivateStack, instance: str) -> list[tuple[str, str]]:
    """(segment, cause) of the changes of owner that this instance has seen."""
    stats = stack.stats(instance) or {}
    return [(each["segment"], each["cause"]) for each in stats.get("takeovers", [])]  # type: ignore[attr-defined]


def wait_until_settled(stack: PrivateStack) -> None:
    """Every front has run for so long that it would take over."""
    eventually(lambda: all((stats := stack.stats(name)) and stats["now"] - stats["started_at"] > SETTLE_S + 1 for name in stack.dbsvrs))

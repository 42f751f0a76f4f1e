"""The rules about the published task configuration: who is behind, whether the newest can be read, whether it can be seen at all.

Pure. Users are served all the same in each of these cases, by older tasks than an operator may think: so they ask for attention.
"""

from __future__ import annotations

from collections.abc import Callable

from apps.dbsvr.figures import ConfigFigures, Figures
from apps.dbsvr.findings import ATTENTION, Finding
from apps.dbsvr.rule import Rule, Scene, Tier, Told
from apps.dbsvr.window import Answer

NAMED = 3
"""Processes that a sentence names."""

Pick = Callable[[ConfigFigures, Scene], bool]


def _tier(is_so: Pick, times: Callable[[Scene], int], clear_times: Callable[[Scene], int]) -> Tier:
    def asks(scene: Scene, wanted: bool) -> Callable[[Figures], Answer]:
        return lambda figures: None if figures.config is None else is_so(figures.config, scene) is wanted

    return Tier(
        ATTENTION,
        lambda scene, name: scene.window.held(asks(scene, True), times(scene)),
        lambda scene, name: scene.window.held(asks(scene, False), clear_times(scene)) is not None,
    )


def _config(scene: Scene) -> ConfigFigures:
    last = scene.window.last
    return ConfigFigures() if last is None or last.config is None else last.config


def is_skewed(config: ConfigFigures, scene: Scene) -> bool:
    return bool(config.behind)


def tell_skew(scene: Scene, name: str, finding: Finding) -> Told:
    config = _config(scene)
    if not config.behind:
        return "back", {"revision": str(config.revision or 0)}
    named = sorted(config.behind)[:NAMED]
    others = ",".join(named) + (",…" if len(config.behind) > NAMED else "")
    facts: dict[str, float | int | str] = {"processes": len(config.behind), "others": others}
    return "now", {**facts, "revision": str(config.revision or 0), "using": str(min(config.behind.values()))}


def is_damaged(config: ConfigFigures, scene: Scene) -> bool:
    return bool(config.damage)


def tell_damage(scene: Scene, name: str, finding: Finding) -> Told:
    config = _config(scene)
    if not config.damage:
        return "back", {"revision": str(config.revision or 0)}
    return ("now" if config.revision else "none"), {"revision": str(config.revision or 0), "damage": config.damage}


def is_unseen(config: ConfigFigures, scene: Scene) -> bool:
    """The master answers, and yet there is no look at the table."""
    last = scene.window.last
    is_up = last is not None and last.master.state == "up"
    return is_up and (config.look_age_ms is None or config.look_age_ms > scene.limits.config_unseen_ms)


def tell_unseen(scene: Scene, name: str, finding: Finding) -> Told:
    config = _config(scene)
    facts: dict[str, float | int | str] = {"revision": str(config.revision or 0), "reason": config.why}
    return ("back" if not is_unseen(config, scene) else "now" if config.revision else "none"), facts


RULES = (
    Rule("config.skew", (_tier(is_skewed, lambda it: it.limits.config_for, lambda it: it.limits.config_clear_for),), tell_skew),
    Rule("config.damaged", (_tier(is_damaged, lambda it: 1, lambda it: 1),), tell_damage),
    Rule("config.unseen", (_tier(is_unseen, lambda it: it.limits.config_unseen_for, lambda it: it.limits.config_clear_for),), tell_unseen),
)

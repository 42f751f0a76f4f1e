"""What docs/console.md tells operators is what the code does."""

from __future__ import annotations

import re

import pytest

from apps.dbsvr.blindness import BLIND, DOWN
from apps.dbsvr.canary_rules import CODE as CANARY
from apps.dbsvr.canary_rules import HOLD_S
from apps.dbsvr.judge import RULES
from apps.dbsvr.segment_rules import LEVELS as SEGMENT_LEVELS
from apps.dbsvr.steps import STEPS
from apps.dbsvr.thresholds import Thresholds
from tasksys_site.configuration import PROJECT

PAGE = (PROJECT / "docs" / "console.md").read_text(encoding="utf-8")
ROWS = {cells[0].strip(): cells[1:] for cells in (line.strip("| \n").split("|") for line in PAGE.splitlines() if line.startswith("| "))}
LIMITS = Thresholds()


def numbers(text: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)}


def test_every_rule_stands_in_the_table_with_its_levels() -> None:
    for rule in RULES:
        level = ROWS[rule.code][0]
        assert all(tier.level in level for tier in rule.tiers), rule.code
    assert {BLIND, DOWN, CANARY} <= ROWS.keys()
    assert all(ROWS[code][0].strip() == level for code, level in SEGMENT_LEVELS.items())
    assert f"{HOLD_S / 60:.0f} min" in ROWS[CANARY][2]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("replica.lag", {LIMITS.lag_ms / 1000, LIMITS.lag_for, LIMITS.lag_clear_ms / 1000, LIMITS.lag_clear_for}),
        (
            "replica.lag.growing",
            {
                LIMITS.lag_growing_ms / 1000,
                LIMITS.lag_growing_for / 60,
                LIMITS.lag_growing_share * 100,
                LIMITS.lag_growing_clear_ms / 1000,
                LIMITS.lag_growing_clear_for,
            },
        ),
        ("replica.stopped", {LIMITS.still_for_s, LIMITS.lag_clear_ms / 1000, LIMITS.lag_clear_for}),
        ("replica.silent", {LIMITS.silent_after_ms / 1000, LIMITS.silent_for, LIMITS.silent_clear_for}),
        ("replicas.none", {LIMITS.none_for, LIMITS.none_clear_for}),
        ("replica.share", {LIMITS.share * 100, LIMITS.share_for, LIMITS.share_min_safe, LIMITS.share_clear * 100, LIMITS.share_clear_for}),
        ("replica.refused", {LIMITS.refused_for, LIMITS.refused_clear_for}),
        ("peer.away", {LIMITS.peer_for, LIMITS.peer_clear_for}),
        ("master.two", {LIMITS.warning_clear_for}),
        ("writes.lost", {LIMITS.lost_for_s / 3600}),
        ("master.down", {LIMITS.master_down_s, LIMITS.master_up_for}),
        ("master.beat", {LIMITS.beat_attention, LIMITS.beat_fault, LIMITS.beat_clear, LIMITS.beat_clear_for}),
        ("queue.query.age", {LIMITS.query_fault_ms / 1000, LIMITS.age_for, LIMITS.age_clear_for}),
        ("queue.finish.age", {LIMITS.finish_ms, LIMITS.finish_fault_ms / 1000, LIMITS.age_for, LIMITS.age_clear_for}),
        (
            "queue.clear.age",
            {LIMITS.clear_ms / 60_000, LIMITS.clear_fault_ms / 60_000, LIMITS.clear_clear_ms / 60_000, LIMITS.age_clear_for},
        ),
        ("overload", {LIMITS.overload_in, LIMITS.overload_of, LIMITS.overload_clear_for}),
        ("config.skew", {LIMITS.config_for, LIMITS.config_clear_for}),
        ("config.unseen", {LIMITS.config_unseen_ms / 1000, LIMITS.config_unseen_for, LIMITS.config_clear_for}),
        (DOWN, {LIMITS.blind_after_s, LIMITS.blind_clear_for}),
        (BLIND, {LIMITS.blind_after_s, LIMITS.all_blind_after_s, LIMITS.blind_clear_for}),
    ],
)
def test_the_thresholds_of_the_page_are_those_of_the_code(code: str, wanted: set[float]) -> None:
    assert numbers(" ".join(ROWS[code][1:])) == wanted


def test_the_steps_of_the_page_are_those_of_the_code() -> None:
    kept = {"2 h": 7_200, "48 h": 172_800, "8 d": 691_200, "90 d": 7_776_000}
    for step in STEPS.values():
        assert kept[ROWS[f"{step.seconds} s"][0].strip()] == step.keep_s

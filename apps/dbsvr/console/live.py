"""What every page and every poll shows now: the state row, made older by the clock, in the reader's language and zone.

All web processes read the same row, so all show the same. What is rendered is kept for one `seq`, language and zone: fifty browsers
cost one rendering a second.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language, gettext

from apps.dbsvr import samples, state_copy
from apps.dbsvr.console import five_minutes, present
from apps.dbsvr.console.outage import outage
from apps.dbsvr.findings import UNKNOWN, Finding, light, shown
from apps.dbsvr.quantities import clock, duration
from apps.dbsvr.say import say
from apps.dbsvr.state import InstanceNow, State, decode_state, read_state
from apps.dbsvr.thresholds import Thresholds
from tasksys_site.configuration import Configuration, load

HISTORY_STEP_S = 10


class Live(NamedTuple):
    """`seq` is what a browser says it has seen. It also changes when the state has become too old to be believed.

    `copied`: read from the copy, because the database does not answer; nothing else may be asked of it then.
    """

    seq: str
    state: State
    age_s: float
    copied: bool = False


@functools.cache
def configuration() -> Configuration:
    return load()


def instance_named(wanted: str | None) -> str:
    """The DBSvr that a page is about: the one asked for, or the first."""
    names = list(configuration().dbsvr.instances)
    return wanted if wanted in names else names[0]


def look(now: float | None = None) -> Live:
    """The state as it is to be believed now. After ten seconds without a sampler nothing is known any more."""
    now = time.time() if now is None else now
    state, copied = (decode_state(state_copy.get()), True) if outage.is_so() else (read_state(), False)
    if state is None:
        finding = Finding("console.blind", UNKNOWN, "", now, "never")
        return Live("0", State(0, now, UNKNOWN, (finding,)), 0.0, copied)
    age_s = max(0.0, now - state.judged_at)
    if age_s <= Thresholds().all_blind_after_s:
        return Live(str(state.seq), state, age_s, copied)
    finding = Finding("console.blind", UNKNOWN, "", state.judged_at, "all", {"since_at": state.judged_at})
    blind = {name: InstanceNow(it.figures, it.at, answers=False) for name, it in state.instances.items()}
    # Told anew every five seconds: for how long is all that still changes.
    believed = State(state.seq, now, UNKNOWN, (finding,), blind, state.most, state.canary, state.cache)
    return Live(f"{state.seq}-blind-{age_s // 5:.0f}", believed, age_s, copied)


class FindingWords(NamedTuple):
    """`where`: which DBSvr finds it; empty where there is one alone, or where it is not one DBSvr's."""

    level: str
    headline: str
    text: str
    since: str
    where: str = ""


class Rendered(NamedTuple):
    """What is put on the page. `values` by the key of their node; `well` the shape of each process and of each step."""

    light: str
    word: str
    since: str
    findings: list[FindingWords]
    count: int
    values: dict[str, str]
    servers: list[present.ServerRow]
    segments: list[present.SegmentRow]
    ways: list[present.SegmentRow]
    processes: list[present.ProcessRow]
    steps: list[five_minutes.StepShown]
    findings_html: str

    @property
    def as_json(self) -> dict[str, Any]:
        values = dict(self.values)
        marks = {}
        for server in self.servers:
            values |= {f"server_{server.name}_{key}": text for key, text in server.values.items()}
        for segment in self.segments:
            values |= {f"segment_{segment.name}_{key}": text for key, text in segment.values.items()}
        for way in self.ways:
            values |= {f"way_{way.name}_{key}": text for key, text in way.values.items()}
        for process in self.processes:
            values[f"process_{process.key}"] = process.word
            marks[f"process_{process.key}"] = process.well
        for step in self.steps:
            values[f"step_{step.key}"] = step.text
            marks[f"step_{step.key}"] = "yes" if step.done else "todo"
        return {
            "light": self.light,
            "word": self.word,
            "count": self.count,
            "values": values,
            "marks": marks,
            "findings_html": self.findings_html,
        }


def level_words() -> dict[str, str]:
    return {
        "ok": gettext("All well"),
        "notice": gettext("For information"),
        "maintenance": gettext("Announced work"),
        "attention": gettext("Attention"),
        "fault": gettext("Fault"),
        "unknown": gettext("Unknown"),
    }


def render(live: Live, instance: str) -> Rendered:
    language = get_language() or settings.LANGUAGE_CODE
    key = (live.seq, instance, language, timezone.get_current_timezone_name(), live.copied)
    if key not in _kept:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[key] = _render(live, instance, language)
    return _kept[key]


MOST_KEPT = 16
_kept: dict[tuple[str, str, str, str, bool], Rendered] = {}


def _render(given: Live, instance: str, language: str) -> Rendered:
    state = given.state
    zone = timezone.get_current_timezone()
    visible = shown(state.findings)
    words = []
    for finding in visible:
        sentence = say(finding, language, zone)
        since = since_words(finding, state, language)
        words.append(FindingWords(finding.level, sentence.headline, sentence.text, since, where(finding, state.findings)))
    worst = light(state.findings)
    trouble = sum(finding.level not in ("ok", "notice") for finding in visible)
    newest = None if given.copied else samples.newest_at(HISTORY_STEP_S, instance)
    history_age_s = None if newest is None else max(0.0, time.time() - newest - HISTORY_STEP_S)
    rows = present.processes(state, configuration().dbsvr.instances, history_age_s, language)
    context = {
        "light": worst,
        "word": level_words()[worst],
        "since": words[0].since if words and worst not in ("ok", "notice") else "",
        "findings": words,
    }
    settings_of_canary = configuration().canary
    canary = present.canary_tile(state.canary, settings_of_canary.users, settings_of_canary.every_s, state.judged_at, zone, language)
    return Rendered(
        light=worst,
        word=context["word"],
        since=context["since"],
        findings=words,
        count=trouble,
        values=present.tiles(state.instances.get(instance), language, configuration().dbsvr.age_limit_ms) | canary,
        servers=present.server_rows(state.instances.get(instance), language),
        segments=present.segment_rows(state, zone),
        ways=present.way_rows(state, language),
        processes=rows,
        steps=five_minutes.steps(state, instance, rows, language) if configuration().web.demo and not given.copied else [],
        findings_html=render_to_string("console/findings.html", context),
    )


def where(finding: Finding, findings: Iterable[Finding]) -> str:
    """The DBSvrs that find this, when there are several and the sentence does not say it."""
    if not finding.instance or "dbsvr" in finding.facts or len(configuration().dbsvr.instances) < 2:
        return ""
    same = [it for it in findings if it is finding or (it.code, it.server, it.hidden_by) == (finding.code, finding.server, finding.code)]
    return "DBSvr " + ", ".join(sorted({it.instance for it in same}))


def since_words(finding: Finding, state: State, language: str) -> str:
    """Since when, in the operator's zone and relative."""
    at = clock(finding.since, timezone.get_current_timezone())
    if state.judged_at - finding.since >= 86_400:
        at = date_format(
            timezone.localtime(timezone.datetime.fromtimestamp(finding.since, timezone.get_current_timezone())), "DATETIME_FORMAT"
        )
    return gettext("since %(at)s (%(age)s)") % {"at": at, "age": duration(max(1000.0, (state.judged_at - finding.since) * 1000), language)}

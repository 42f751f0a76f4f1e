"""What the judge says: findings, their levels, and the order of the levels.

Pure values. A finding names a case, for which `say` has words, and the facts that go into them, in base units: the name's end tells
the unit (`_ms`, `_share`, `_at` epoch seconds, `_minute` likewise but said without seconds, `_rate` per second).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

OK, NOTICE, MAINTENANCE, ATTENTION, UNKNOWN, FAULT = "ok", "notice", "maintenance", "attention", "unknown", "fault"

LEVELS = (OK, NOTICE, MAINTENANCE, ATTENTION, UNKNOWN, FAULT)
"""From calm to worst. Unknown stands above attention: what cannot be seen may harm."""

Fact = float | int | str


def severity(level: str) -> int:
    return LEVELS.index(level)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is so. `subject` is a DBSvr (`a`), one of its replicas (`a/r1`), a segment (`/low`), or nothing: all of it.

    `hidden_by` is the code of a finding that explains this one: it is kept, so that its `since` survives, and not shown.
    """

    code: str
    level: str
    subject: str
    since: float
    case: str = ""
    facts: dict[str, Fact] = {}
    hidden_by: str = ""

    @property
    def instance(self) -> str:
        return self.subject.partition("/")[0]

    @property
    def server(self) -> str:
        """The replica; empty for the DBSvr's master, and for the DBSvr itself."""
        return self.subject.partition("/")[2]

    @property
    def key(self) -> tuple[str, str]:
        return (self.code, self.subject)


def shown(findings: Iterable[Finding]) -> list[Finding]:
    """What the page shows, worst first, older before newer."""
    return sorted((finding for finding in findings if not finding.hidden_by), key=lambda it: (-severity(it.level), it.since, it.key))


def light(findings: Iterable[Finding]) -> str:
    """The level of the light: the worst of what is shown."""
    return max((finding.level for finding in findings if not finding.hidden_by), key=severity, default=UNKNOWN)

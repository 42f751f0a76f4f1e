"""From a finding to its words: a fact first, then what it means, then what to do.

Pure. Every case has a template of its own in every language, with named places; nothing is glued from parts. The end of a fact's name
tells how it is written: see `findings`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timezone, tzinfo
from types import ModuleType
from typing import NamedTuple

from apps.dbsvr.findings import Fact, Finding
from apps.dbsvr.quantities import EN, ZH, about, clock, count, digits, duration, lag, share
from apps.dbsvr.words import en, zh_hans

_LANGUAGES: dict[str, ModuleType] = {EN: en, ZH: zh_hans}


SAME_WORDS = {"replica.lag.growing": "replica.lag"}


class Sentence(NamedTuple):
    headline: str
    text: str

    def __str__(self) -> str:
        return f"{self.headline} {self.text}".strip()


def say(finding: Finding, language: str = EN, zone: tzinfo = timezone.utc) -> Sentence:
    """The words for a finding. An unknown language is answered in English."""
    words = _LANGUAGES.get(language, en)
    code = SAME_WORDS.get(finding.code, finding.code)
    key = f"{code}/{finding.case}" if finding.case else code
    template = words.SENTENCES.get(key)
    if template is None:
        # An older web process may meet a newer sampler's case: the code is better than nothing.
        return Sentence(f"{finding.subject}: {key}", "")
    places = {name: write(name, fact, language if language in _LANGUAGES else EN, zone) for name, fact in finding.facts.items()}
    return Sentence(template[0] % places, template[1] % places)


def write(name: str, fact: Fact, language: str, zone: tzinfo) -> str:
    """One fact as text, by the end of its name."""
    words = _LANGUAGES[language]
    if name == "why":
        return str(words.WHY_NO_ANSWER.get(str(fact), fact))
    if name == "error":
        return str(words.DATABASE_ERRORS.get(str(fact), fact))
    if name == "cause":
        return str(words.CAUSES.get(str(fact), fact))
    if name == "others":
        return str(fact).replace(",", words.AND)
    if name in ("dbsvr", "owner", "home"):
        return str(fact).upper() if len(str(fact)) == 1 else str(fact)
    if isinstance(fact, str):
        return fact
    if name == "lag_ms":
        return lag(fact, language)
    if name == "left_ms":
        return about(fact, language)
    for ending, text in _ENDINGS.items():
        if name.endswith(ending):
            return text(fact, language, zone)
    return count(fact)


_ENDINGS: dict[str, Callable[[float, str, tzinfo], str]] = {
    "_ms": lambda fact, language, zone: duration(fact, language),
    "_share": lambda fact, language, zone: share(fact, language),
    "_rate": lambda fact, language, zone: digits(fact),
    "_s": lambda fact, language, zone: digits(round(fact, 1)),
    "_at": lambda fact, language, zone: clock(fact, zone),
    "_minute": lambda fact, language, zone: clock(fact, zone, seconds=False),
}

"""How numbers, moments, spans, zones and lists are written for operators, in the active language.

Needs Django's active language and time zone, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_datetime, get_timezone_location
from django.utils import timezone
from django.utils.translation import get_language, gettext, ngettext


def locale() -> str:
    """Babel's name of the active language."""
    return "zh_Hans" if (get_language() or "en").startswith("zh") else "en"


def number(value: float) -> str:
    return f"{value:,}"


def moment(value: datetime, zone: tzinfo | None = None) -> str:
    """1 Dec 2026 00:00 Shanghai: in `zone`, or in the operator's. A moment without a zone is written as it is."""
    # The patterns are CLDR's; a translation puts day, month and year in its own order.
    pattern = gettext("d MMM y HH:mm")
    if value.tzinfo is None:
        return str(format_datetime(value, pattern, locale=locale()))
    zone = zone or timezone.get_current_timezone()
    local = value.astimezone(zone)
    if local.second or local.microsecond:
        pattern = gettext("d MMM y HH:mm:ss")
    written = format_datetime(local.replace(tzinfo=None), pattern, locale=locale())
    return gettext("%(moment)s %(zone)s") % {"moment": written, "zone": zone_city(str(zone))}


def day(value: date) -> str:
    return str(format_date(value, gettext("d MMM y"), locale=locale()))


def iso_moment(text: str, zone: tzinfo | None = None) -> str:
    """A moment that a fault carries as text."""
    return moment(datetime.fromisoformat(text), zone)


def zone_city(name: str) -> str:
    """Shanghai for Asia/Shanghai; names that are no place stay as they are."""
    return _city(name, locale())


@lru_cache(maxsize=2_048)
def _city(name: str, babel_locale: str) -> str:
    if "/" not in name or name.startswith("Etc/"):
        return name
    try:
        ZoneInfo(name)
        return str(get_timezone_location(name, locale=babel_locale, return_city=True))
    except (LookupError, ValueError, OSError):
        return name


def language_name(code: str) -> str:
    return _language(code, locale())


@lru_cache(maxsize=512)
def _language(code: str, babel_locale: str) -> str:
    if code == "zh-hans":
        # Shorter than CLDR's name, and the one that the language menu has.
        return "Chinese" if babel_locale == "en" else "简体中文"
    try:
        return Locale.parse(code, sep="-").get_display_name(babel_locale) or code
    except (UnknownLocaleError, ValueError):
        return code


def span(seconds: int) -> str:
    """In the largest unit that it is a whole number of: 86,400 is 1 day, 5,400 is 90 minutes."""
    if seconds and seconds % 86_400 == 0:
        return ngettext("%(count)s day", "%(count)s days", seconds // 86_400) % {"count": number(seconds // 86_400)}
    if seconds and seconds % 3_600 == 0:
        return ngettext("%(count)s hour", "%(count)s hours", seconds // 3_600) % {"count": number(seconds // 3_600)}
    if seconds and seconds % 60 == 0:
        return ngettext("%(count)s minute", "%(count)s minutes", seconds // 60) % {"count": number(seconds // 60)}
    return ngettext("%(count)s second", "%(count)s seconds", seconds) % {"count": number(seconds)}


def percent(basis_points: int) -> str:
    """25 %, 0.05 %."""
    figure = f"{basis_points / 100:.2f}".rstrip("0").rstrip(".")
    return f"{figure}%" if locale() == "zh_Hans" else f"{figure} %"


def all_of(items: Iterable[str]) -> str:
    """a, b and c."""
    return _listed(list(items), gettext("%(items)s and %(item)s"))


def one_of(items: Iterable[str]) -> str:
    """a, b or c."""
    return _listed(list(items), gettext("%(items)s or %(item)s"))


def together(clauses: Iterable[str]) -> str:
    """Clauses that hold at the same time. English has the same word for them as for things; other languages have not."""
    return _listed(list(clauses), gettext("%(clauses)s and %(item)s"))


def one_and_another(phrases: Iterable[str]) -> str:
    """Phrases that say one thing each: 10 points at 3 and 30 points at 7."""
    return _listed(list(phrases), gettext("%(phrases)s and %(item)s"))


def _listed(items: list[str], pair: str) -> str:
    if len(items) < 2:
        return "".join(items)
    before = gettext(", ").join(items[:-1])
    return pair % {"items": before, "clauses": before, "phrases": before, "item": items[-1]}


def in_turn(clauses: Iterable[str]) -> str:
    """a; b; c."""
    return gettext("; ").join(clauses)


def one_after_another(sentences: Iterable[str]) -> str:
    """Chinese puts no space between sentences."""
    return ("" if locale() == "zh_Hans" else " ").join(sentences)

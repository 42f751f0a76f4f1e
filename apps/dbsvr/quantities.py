"""Numbers as they are read: three significant digits, the unit with them, in the reader's language.

Pure. English puts a space before the unit and the per cent sign, Chinese before its words but not before the per cent sign.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

EN, ZH = "en", "zh-hans"
LANGUAGES = (EN, ZH)

_UNITS = {
    EN: {"ms": "ms", "s": "s", "min": "min", "h": "h", "d": "d"},
    ZH: {"ms": "毫秒", "s": "秒", "min": "分钟", "h": "小时", "d": "天"},
}


def count(number: float) -> str:
    return f"{round(number):,}"


def digits(number: float) -> str:
    """Three significant digits: 0.25, 4.6, 38.1, 464, 9,551."""
    size = abs(number)
    if size >= 100 or size == round(size):
        return f"{round(number):,}"
    return (f"{number:.1f}" if size >= 1 else f"{number:.2f}").rstrip("0").rstrip(".") or "0"


def share(part: float, language: str, decimals: int = 0) -> str:
    text = f"{part * 100:.{decimals}f}"
    return f"{text}%" if language == ZH else f"{text} %"


def duration(ms: float, language: str) -> str:
    """38 ms, 12.4 s, 74 s, 3 min 12 s, 2 h 5 min."""
    units = _UNITS[language]
    if ms < 1000:
        return f"{digits(ms) if ms < 10 else round(ms)} {units['ms']}"
    seconds = ms / 1000
    if seconds < 60:
        return f"{digits(round(seconds, 1))} {units['s']}"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} {units['s']}"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} {units['min']} {rest} {units['s']}" if rest else f"{minutes} {units['min']}"
    if minutes < 60:
        return f"{round(whole / 60)} {units['min']}"
    hours, minutes = divmod(round(whole / 60), 60)
    if hours < 48:
        return f"{hours} {units['h']} {minutes} {units['min']}" if minutes else f"{hours} {units['h']}"
    return f"{round(hours / 24)} {units['d']}"


def lag(ms: float, language: str) -> str:
    """How far behind: in seconds from a tenth of one on."""
    if ms < 95:
        return f"{round(ms)} {_UNITS[language]['ms']}"
    if ms >= 1000:
        return duration(ms, language)
    return f"{ms / 1000:.1f} {_UNITS[language]['s']}"


def about(ms: float, language: str) -> str:
    """A duration that is only estimated: whole seconds below two minutes, then whole minutes."""
    if ms < 120_000:
        return f"{max(1, round(ms / 1000))} {_UNITS[language]['s']}"
    return duration(round(ms / 60_000) * 60_000, language) if ms < 600_000 else duration(ms, language)


def clock(at: float, zone: tzinfo, seconds: bool = True) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%H:%M:%S" if seconds else "%H:%M")

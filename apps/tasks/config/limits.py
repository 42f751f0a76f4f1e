"""How much of everything a configuration may hold. Generous for people, small enough for the bundle and the pages."""

from __future__ import annotations

import re

from workers.protocol import MAX_VALUE

REQUIRED_LANGUAGES = ("en", "zh-hans")
"""A task has a text in one of them at least; one that lacks is a warning."""
EVENT_RETENTION_S = 30 * 86_400
"""For how long applied events are known, where the installation says nothing else."""

CODE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""A task's code and a list's name."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""Of an attribute, an event and an event's attribute."""
LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}")
TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,7}")
SHA256 = re.compile(r"[0-9a-f]{64}")
LINK = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://[^\s\x00-\x1f\x7f\"<>\\^`{|}]+")
UNSAFE_SCHEMES = frozenset({"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"})
"""These run or open something on the user's device instead of leading somewhere."""

MAX_TASKS = 20_000
MAX_ATTRIBUTES = 500
MAX_EVENTS = 2_000
MAX_LISTS = 2_000
MAX_UIDS_IN_A_LIST = 200_000
MAX_LANGUAGES = 50
MAX_TAGS = 20
MAX_GROUPS = 20
MAX_ROWS = 50
MAX_LISTED_VALUES = 1_000
MAX_FEEDS = 20
MAX_PREREQUISITES = 20
MAX_TIERS = 50
MAX_RELEASE_LISTS = 20
MAX_EVENT_ATTRIBUTES = 100

MAX_CHARACTERS = {
    "name": 200,
    "description": 2_000,
    "button": 60,
    "link": 500,
    "category": 64,
    "icon": 200,
    "tag": 40,
    "exclusive_group": 64,
    "sequence": 64,
    "salt": 64,
    "value": 200,
}
MAX_WEIGHT = 2**31 - 1
MAX_POINTS = MAX_VALUE
MAX_STREAK = 1_000
MAX_MEMBERS = 1_000
"""Different values that mode distinct counts for one user in one period: the DBSvr keeps no more."""
MAX_EVERY_DAYS = 366
MAX_CLAIM_GRACE_S = 366 * 86_400
MAX_TTL_S = 30 * 86_400
FIRST_YEAR, LAST_YEAR = 1970, 2999
"""Of any moment or day: farther ones are slips of the hand, and period ends must stay within what dates can hold."""

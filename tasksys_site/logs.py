"""How a log line looks: `2026-11-30T04:23:25.123Z warning apps.tasks "the API key table could not be read" error=…`.

One event a line, facts as key=value, so that both people and grep can read it. No Django here: every process may use it.
Facts are given by `extra`: `log.warning("a write was refused", extra={"uid": 7})`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Of the request that this thread answers; every line that it causes carries it."""

_PLAIN = re.compile(r"^[^\s\"=]+$")
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Django adds the request object to its records; its repr says nothing that the message does not.
_NOT_WORTH_A_WORD = {"request", "server_time"}


class KeyValueFormatter(logging.Formatter):
    """A line of time, level, logger, quoted message and the facts given by `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: each for name, each in vars(record).items() if name not in _OWN_ATTRIBUTES and name not in _NOT_WORTH_A_WORD}
        if (request := request_id.get()) and "request_id" not in facts:
            facts["request_id"] = request
        line = line_of(record.created, record.levelname.lower(), record.name, record.getMessage(), facts)
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def line_of(at: float, level: str, logger: str, message: str, facts: Mapping[str, Any]) -> str:
    """`at`: seconds since 1970."""
    start = f"{moment_text(at)} {level} {logger} {quoted(message)}"
    return " ".join([start, *(f"{name}={value_text(value)}" for name, value in facts.items())])


def moment_text(at: float) -> str:
    """2026-11-30T04:23:25.123Z"""
    at_ms = round(at * 1_000_000) // 1000
    return f"{_second_text(at_ms // 1000)}.{at_ms % 1000:03d}Z"


@lru_cache(maxsize=16)
def _second_text(at_s: int) -> str:
    return f"{datetime.fromtimestamp(at_s, timezone.utc):%Y-%m-%dT%H:%M:%S}"


def value_text(value: Any) -> str:
    text = str(value)
    return text if _PLAIN.match(text) else quoted(text)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def logging_configuration(level: str = "INFO") -> dict[str, Any]:
    """For logging.config.dictConfig (and Django's LOGGING): everything to standard error, where the supervisor collects it."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"key_value": {"()": "tasksys_site.logs.KeyValueFormatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "key_value"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own set-up gives this logger handlers of its own; one line an event is enough.
            "django": {"handlers": [], "level": level, "propagate": True},
            # Celery says of each task that it came and that it went well: two lines for nothing. One that fails is an error.
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            # Each login in four lines without the name; the audit log says it in one, with the name.
            "axes": {"level": "ERROR"},
        },
    }

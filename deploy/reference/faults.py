"""What a reference server does wrong, and how often: a frozen value that is set over HTTP or on its command line.

Pure. Shares are between 0 and 1 and are tried in the order of the fields; a request meets one fault at most, after it was slow.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields


class Fault(enum.StrEnum):
    """What happens to one request."""

    NONE = "none"
    CUT = "cut"
    """The connection is closed; nothing was done."""
    ERROR = "error"
    """500; nothing was done."""
    BUSY = "busy"
    """429 with Retry-After; nothing was done."""
    GARBLED = "garbled"
    """Done, and the answer is no JSON."""
    LOST = "lost"
    """Done, and the answer does not come: the connection is held for `hold_ms`, then closed."""
    TWICE = "twice"
    """Done two times, as when something on the way repeats a request; the second answer is given."""


class WrongFaults(ValueError):
    """A fault that there is not, or a number outside its bounds."""


@dataclass(frozen=True)
class Faults:
    """All switches of a server. The default is a server that is well."""

    slow_ms: int = 0
    dead: bool = False
    errors: float = 0.0
    busy: float = 0.0
    garbled: float = 0.0
    lost: float = 0.0
    twice: float = 0.0
    hold_ms: int = 3_000
    retry_after_s: int = 1

    def choose(self, draw: Callable[[], float]) -> Fault:
        """Which fault the next request meets. `draw` gives a number from 0 to 1."""
        if self.dead:
            return Fault.CUT
        drawn, passed = draw(), 0.0
        for share, fault in (
            (self.errors, Fault.ERROR),
            (self.busy, Fault.BUSY),
            (self.garbled, Fault.GARBLED),
            (self.lost, Fault.LOST),
            (self.twice, Fault.TWICE),
        ):
            passed += share
            if drawn < passed:
                return fault
        return Fault.NONE

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def faults_of(values: Mapping[str, object]) -> Faults:
    """From the JSON of a PUT; what it does not name is well."""
    known = {field.name: getattr(Faults, field.name) for field in fields(Faults)}
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name not in known:
            raise WrongFaults(f"there is no fault {name}; known are {', '.join(known)}")
        default = known[name]
        if isinstance(default, bool) != isinstance(value, bool) or not isinstance(value, int | float):
            raise WrongFaults(f"{name} cannot be {value!r}")
        if value < 0 or (isinstance(default, float) and value > 1):
            raise WrongFaults(f"{name} is {value}, outside its bounds")
        checked[name] = float(value) if isinstance(default, float) else value
    return Faults(**checked)  # type: ignore[arg-type]  # each is of its default's type, or an int for one

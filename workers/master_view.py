"""What a front knows of the master and its worker. Pure: moments are passed in."""

from __future__ import annotations

from workers.messages import Ready


class MasterView:
    """`starting` while a worker is on its way, `down` when the worker says that the master cannot be used, else `up`."""

    def __init__(self) -> None:
        self.state = "starting"
        self.sentence = ""
        self.endpoint = ""
        self.pid: int | None = None
        self.epoch: int | None = None
        self.tick: int | None = None
        self.committed_at: float | None = None
        self._up_since = 0.0
        self.endpoints: list[tuple[str, str, str]] = []
        self.warning = ""
        """What its worker says must be mended: a second writable master."""

    @property
    def is_ready(self) -> bool:
        return self.state == "up"

    @property
    def is_down(self) -> bool:
        return self.state == "down"

    def connect(self, pid: int | None) -> None:
        self.pid = pid

    def begin(self, ready: Ready, now: float) -> None:
        if self.state != "up":
            self._up_since = now
        self.state, self.sentence = "up", ""
        self.endpoint, self.epoch, self.tick = ready.endpoint, ready.epoch, None
        self.note_tick(ready.tick, now)

    def note_tick(self, tick: int, now: float) -> None:
        if self.tick is None or tick > self.tick:
            self.tick, self.committed_at = tick, now

    def go_down(self, sentence: str) -> None:
        self.state, self.sentence = "down", sentence

    def part(self) -> None:
        """The worker is gone; the master may be well. Writes wait for the next worker."""
        self.pid = None
        if self.state == "up":
            self.state = "starting"

    def up_for_s(self, now: float) -> float:
        """How long it has been up without a break."""
        return now - self._up_since if self.state == "up" else 0.0

    def beat_age_ms(self, now: float) -> float | None:
        return None if self.committed_at is None else (now - self.committed_at) * 1000

"""The last minutes of one DBSvr, and the questions that rules ask of them.

Pure. A sample without the figure asked for neither helps nor harms: "for 10 s" means ten samples that know it. Nothing here
knows a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from apps.dbsvr.figures import Figures, QueueFigures, ReplicaFigures, Sample

LENGTH = 180
"""Samples that a rule may look back on."""

RECENT = 5
"""Samples whose mean is called "now" on the page and in sentences: one second alone jumps."""

SLOPE_SPAN = 15

Answer = bool | None
"""Yes, no, or unknown."""


class Window:
    def __init__(self, instance: str, samples: Sequence[Sample], now: float) -> None:
        self.instance = instance
        self.now = now
        self.samples = list(samples)[-LENGTH:]
        self.answered = [(sample.at, sample.figures) for sample in self.samples if sample.figures is not None]

    @property
    def last(self) -> Figures | None:
        return self.answered[-1][1] if self.answered else None

    @property
    def last_at(self) -> float | None:
        return self.answered[-1][0] if self.answered else None

    def replica(self, name: str) -> ReplicaFigures | None:
        return self.last.replicas.get(name) if self.last else None

    def held(self, ask: Callable[[Figures], Answer], times: int) -> float | None:
        """Since when it has held, if the newest `times` samples that know it all say yes; else None."""
        count, since = 0, None
        for at, figures in reversed(self.answered):
            answer = ask(figures)
            if answer is None:
                continue
            if not answer:
                break
            count, since = count + 1, at
        return since if count >= times else None

    def count(self, ask: Callable[[Figures], Answer], of: int) -> int:
        """How many of the newest `of` samples that know it say yes."""
        answers = [answer for answer in (ask(figures) for _at, figures in self.answered) if answer is not None]
        return sum(answers[-of:])

    def known(self, pick: Callable[[Figures], float | None], newest: int = LENGTH) -> list[tuple[float, float]]:
        """(at, value) of the newest samples that know it."""
        values = [(at, value) for at, value in ((at, pick(figures)) for at, figures in self.answered) if value is not None]
        return values[-newest:]

    def mean(self, pick: Callable[[Figures], float | None], newest: int = RECENT) -> float | None:
        values = self.known(pick, newest)
        return sum(value for _at, value in values) / len(values) if values else None

    def worst(self, pick: Callable[[Figures], float | None], newest: int = RECENT) -> float | None:
        return max((value for _at, value in self.known(pick, newest)), default=None)

    def slope(self, pick: Callable[[Figures], float | None], newest: int = SLOPE_SPAN) -> float | None:
        """Change per second over the newest samples, by least squares; None before there are five."""
        points = self.known(pick, newest)
        if len(points) < 5:
            return None
        middle = sum(at for at, _value in points) / len(points)
        level = sum(value for _at, value in points) / len(points)
        spread = sum((at - middle) ** 2 for at, _value in points)
        return sum((at - middle) * (value - level) for at, value in points) / spread if spread else None

    def smoothed(self) -> Figures | None:
        """The newest figures, with rates as the mean and ages as the worst of the newest few seconds: what a page calls now."""
        last = self.last
        if last is None:
            return None
        replicas = {name: msgspec.structs.replace(replica, reads=self.mean(_reads_of(name))) for name, replica in last.replicas.items()}
        queues = {name: QueueFigures(queue.waiting, self.worst(_oldest_of(name)) or 0.0) for name, queue in last.queues.items()}
        reasons = {name: self.mean(_reason(name)) or 0.0 for name in last.reasons}
        return msgspec.structs.replace(
            last,
            replicas=replicas,
            queues=queues,
            reasons=reasons,
            reads=self.mean(lambda it: it.reads),
            reads_master=self.mean(lambda it: it.reads_master),
            safe=self.mean(lambda it: it.safe),
            writes=self.mean(lambda it: it.writes),
            clears=self.mean(lambda it: it.clears),
            commit_ms=self.mean(lambda it: it.commit_ms),
            batches=self.mean(lambda it: it.batches),
        )


def _reads_of(replica: str) -> Callable[[Figures], float | None]:
    return lambda it: it.replicas[replica].reads if replica in it.replicas else None


def _oldest_of(queue: str) -> Callable[[Figures], float | None]:
    return lambda it: it.queues[queue].oldest_ms if queue in it.queues else None


def _reason(name: str) -> Callable[[Figures], float | None]:
    return lambda it: None if it.reads is None else it.reasons.get(name, 0.0)

"""The sampler: asks every DBSvr once a second, judges, and writes one second of history and the state row.

One small process, whatever the number of browsers. Only one works at a time: it holds a lock of the database, and another one waits
for it. Neither a DBSvr nor the database can stop it: what cannot be asked is a gap, what cannot be written is kept for two minutes.
The threads that may hang are daemons; the loop itself never waits for longer than a second, so TERM ends it within one.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec
from django.db import DatabaseError, connection, transaction

from apps.dbsvr import canary_rounds
from apps.dbsvr import samples as history
from apps.dbsvr.asker import Asker
from apps.dbsvr.cache_rules import CacheNow
from apps.dbsvr.canary_rules import CanaryNow
from apps.dbsvr.diff.now import diff_now
from apps.dbsvr.diff_rules import DiffNow
from apps.dbsvr.figures import Figures, Sample
from apps.dbsvr.findings import light
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.points_rules import PointsNow
from apps.dbsvr.profiles_rules import ProfilesNow
from apps.dbsvr.state import InstanceNow, State, encode_state, read_state, write_state
from apps.dbsvr.state_copy import Copier
from apps.dbsvr.sweep_rules import SweepsNow
from apps.dbsvr.sweeps.now import sweeps_now
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import LENGTH, Window
from tasksys_site.configuration import Configuration

log = logging.getLogger(__name__)

KEPT_SECONDS = 120
OTHERS_EVERY_S = 2.0


def held_of(figures: Figures) -> list[str]:
    """The replicas that a DBSvr does not use because they are held."""
    return [name for name, replica in figures.replicas.items() if replica.hold is not None]


class Writer:
    """Writes to the database in a thread of its own, under the lock that makes this sampler the only one."""

    def __init__(
        self,
        lock: str,
        look_at_cache: Callable[[], CacheNow],
        look_at_points: Callable[[], PointsNow | None],
        look_at_sweeps: Callable[[], SweepsNow | None],
    ) -> None:
        self._lock = lock
        self._look_at_sweeps = look_at_sweeps
        self._look_at_cache = look_at_cache
        self._look_at_points = look_at_points
        self._work = threading.Event()
        self._pending: deque[list[Sample]] = deque(maxlen=KEPT_SECONDS)
        self._state: State | None = None
        self._holds = False
        self._complaint = ""
        self.found: State | None = None
        """What was in the row when the lock was won; the sampler takes it over."""
        self.canary: CanaryNow | None = None
        """What the canary has found, as last read; its rounds are written by Celery."""
        self.points: PointsNow | None = None
        """How points are delivered, as the relays counted last."""
        self.cache: CacheNow | None = None
        """How the cache nodes are, as last read; the cache sync center asks them."""
        self.diff: DiffNow | None = None
        """What the replica diff has found, as last read; Celery compares."""
        self.sweeps: SweepsNow | None = None
        """How the sweeps of old rows stand, as last read; Celery makes them."""
        self._others_read_at = 0.0
        self.works = False
        """This sampler is the one that works. Stays so while the database is away: nobody else can have the lock then."""
        threading.Thread(target=self._run, name="writer", daemon=True).start()

    def put(self, samples: list[Sample], state: State) -> None:
        self._pending.append(samples)
        self._state = state
        self._work.set()

    def _run(self) -> None:
        while True:
            try:
                if not self._holds:
                    self._win_lock()
                if self._holds:
                    self._write()
                self._complain("")
            except DatabaseError as error:
                self._holds = False
                connection.close()
                self._complain(f"cannot write samples: {error}")
            # One attempt a second, also without work: the lock may have become free.
            self._work.wait(1.0)
            self._work.clear()

    def _win_lock(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT GET_LOCK(%s, 0)", [self._lock])
            won = cursor.fetchone()[0] == 1
        if not won:
            if self.works or not self._complaint:
                self._complain("another sampler is at work; waiting for its place")
            self.works = False
            self._pending.clear()
            return
        self.found = read_state()
        self._holds = self.works = True

    def _write(self) -> None:
        waiting = list(self._pending)
        state = self._state
        if not waiting or state is None:
            return
        with transaction.atomic():
            history.write_seconds(sample for second in waiting for sample in second)
            write_state(state)
        for _second in waiting:
            self._pending.popleft()
        if time.monotonic() - self._others_read_at >= OTHERS_EVERY_S:
            self.canary = canary_rounds.summary(time.time())
            self.cache = self._look_at_cache()
            self.points = self._look_at_points()
            self.diff = diff_now(name for it in state.instances.values() if it.figures for name in held_of(it.figures))
            self.sweeps = self._look_at_sweeps()
            self._others_read_at = time.monotonic()

    def _complain(self, complaint: str) -> None:
        if complaint and complaint != self._complaint:
            log.warning("%s", complaint)
        elif not complaint and self._complaint and self._holds:
            log.warning("samples are written again")
        if complaint or self._holds:
            self._complaint = complaint


class Sampler:
    def __init__(
        self,
        configuration: Configuration,
        stop: threading.Event,
        look_at_cache: Callable[[], CacheNow],
        look_at_points: Callable[[], PointsNow | None],
        look_at_profiles: Callable[[], ProfilesNow | None] = lambda: None,
    ) -> None:
        """`look_at_…`: what the cache layer, the points relay and the profile system say, which this app does not know. DatabaseError comes
        through; the last one waits for nothing."""
        dbsvr = configuration.dbsvr
        self._stop = stop
        self._limits = Thresholds(beat_ms=dbsvr.beat_ms, age_limit_ms=dbsvr.age_limit_ms)
        self._askers = [Asker(name, instance) for name, instance in dbsvr.instances.items()]
        self._samples: dict[str, deque[Sample]] = {asker.name: deque(maxlen=LENGTH) for asker in self._askers}
        self._judgement = Judgement()
        self._seq = 0
        self._copier = Copier()
        self._look_at_profiles = look_at_profiles
        lock, look_at_sweeps = f"{configuration.databases.configuration_schema}.sampler", functools.partial(sweeps_now, configuration)
        self._writer = Writer(lock, look_at_cache, look_at_points, look_at_sweeps)

    def run(self) -> None:
        """One second after the other, until told to stop."""
        while not self._stop.wait(1.0 - time.time() % 1.0):
            if self._writer.works:
                self._second(float(int(time.time())), time.monotonic() + 0.9)
            else:
                for samples in self._samples.values():
                    samples.clear()

    def _second(self, at: float, until: float) -> None:
        for asker in self._askers:
            asker.ask(at)
        newest = [asker.sample(until) for asker in self._askers]
        for sample in newest:
            self._samples[sample.instance].append(sample)
        found = self._writer.found
        if found is not None and found.seq > self._seq:
            # Another sampler worked before, or this one was started anew: its findings keep their beginnings.
            self._seq, self._judgement = found.seq, self._known(found.judgement)
        self._seq += 1
        self._judgement = judge(
            self._samples,
            self._judgement,
            at,
            self._limits,
            self._writer.canary,
            self._writer.cache,
            self._writer.diff,
            self._writer.points,
            self._look_at_profiles(),
            self._writer.sweeps,
        )
        state = self._state(at)
        self._copier.put(encode_state(state))
        self._writer.put(newest, state)

    def _known(self, judgement: Judgement) -> Judgement:
        """Without DBSvrs that are no longer configured."""
        names = {*self._samples, ""}
        return msgspec.structs.replace(judgement, findings=tuple(it for it in judgement.findings if it.instance in names))

    def _state(self, now: float) -> State:
        instances = {}
        for name, samples in self._samples.items():
            window = Window(name, samples, now)
            instances[name] = InstanceNow(window.smoothed(), window.last_at, bool(samples) and samples[-1].figures is not None)
        findings = self._judgement.findings
        return State(self._seq, now, light(findings), findings, instances, self._judgement.most, self._writer.canary, self._writer.cache)

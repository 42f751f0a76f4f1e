"""The published tasks as this process uses them: the newest bundle, loaded, and how old the knowledge is that it is the newest.

One thread of a process waits at a DBSvr for another revision, and takes it over when it has loaded; a request takes what is there. While
no DBSvr answers, or the newest bundle cannot be read, the last good one stands, and its age grows. It is also kept in a file, for
processes that start meanwhile. Nothing else is asked: a logic node needs DbInterface alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from apps.dbsvr.db_interface import db_interface
from apps.tasks.evaluation.bundle import BadBundle, Bundle, load_bundle
from apps.tasks.watch import NotKnownYet
from tasksys_site.configuration import in_project, load
from workers.protocol import BadBody, DamagedRevision, DBSvrError, PublishedBundle, unpack_bundle

log = logging.getLogger(__name__)

BLOCK_MS = 1_000
"""How long a DBSvr holds a question back. A frozen one is noticed after a little more."""
PAUSE_S = 0.5
"""After a question that nobody answered; up to half as long again, so that all processes do not come at once."""
FIRST_WAIT_S = 3.0
"""A process that has just started waits so long for a DBSvr's word; then it begins with what its host has kept."""
TOUCH_EVERY_S = 10.0
NOTHING = load_bundle(b'{"schema":1,"revision":0,"published_at":"1970-01-01T00:00:00Z","tasks":[],"attributes":{},"events":{},"lists":{}}')
"""What is live before the first publication."""


@dataclass(frozen=True, slots=True)
class Live:
    """What is published; revision 0 has no tasks: nothing was published yet. `age_s`: since it was last known to be the newest."""

    revision: int
    bundle: Bundle
    etag: str
    age_s: float


class _Held(NamedTuple):
    revision: int
    bundle: Bundle
    etag: str


Ask = Callable[[int | str, int, int | None], PublishedBundle | None]


class LiveBundle:
    """`ask` is DbInterface.wait_for_config; `path` is where the last good bundle stands for others of this host."""

    def __init__(self, ask: Ask, path: Path, read: Callable[[bytes], Bundle] = load_bundle) -> None:
        self._ask = ask
        self._path = path
        self._read = read
        self._held: _Held | None = None
        self._known: int | str = 0
        """What the DBSvrs need not send again: also one that could not be read."""
        self._confirmed_at = 0.0
        self._touched_at = 0.0
        self._trouble = ""
        self._unreadable = ""
        self._heard = threading.Event()
        self._taken = threading.Condition()
        self._starting = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0

    def get(self) -> Live:
        """Raises NotKnownYet: no DBSvr has answered since this process started, and its host has kept nothing."""
        if self._pid != os.getpid():
            self.start()
        if not self._heard.is_set():
            self._heard.wait(FIRST_WAIT_S)
        held = self._held
        if held is None:
            raise NotKnownYet(f"no published tasks are known yet: {self._trouble or 'no DBSvr has answered'}")
        return Live(*held, self.age_s)

    def get_at_least(self, revision: int, within_s: float) -> Live | None:
        """Waits until this revision, or a newer one, is here; None: it does not come in time. Raises NotKnownYet."""
        self.get()
        with self._taken:
            self._taken.wait_for(lambda: self._held is not None and self._held.revision >= revision, max(0.0, within_s))
        found = self.get()
        return found if found.revision >= revision else None

    @property
    def known(self) -> Bundle | None:
        """What is there now; waits for nothing."""
        return None if self._held is None else self._held.bundle

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._confirmed_at

    @property
    def state(self) -> str:
        """In a sentence, for /healthz; waits for nothing."""
        if self._pid != os.getpid():
            self.start()
        held = self._held
        if held is None:
            return "none is known yet"
        if self._unreadable:
            return f"revision {held.revision}, a newer one cannot be read"
        if self._trouble:
            return f"revision {held.revision}, not confirmed for {self.age_s:.0f} s"
        return f"revision {held.revision}"

    def start(self) -> None:
        """Starts the thread unless it runs in this process already: a forked process has none."""
        with self._starting:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._heard.clear()
                self._stopping.clear()
                self._thread = threading.Thread(target=self._run, name="live bundle", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """For whoever takes the DBSvrs away on purpose. A process that ends needs it not: the thread is a daemon."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * BLOCK_MS / 1000 + 2)
        self._pid = 0

    def _run(self) -> None:
        if self._held is None:
            self._take_kept()
        block_ms = 0  # the first word at once: who starts has no time to wait for the next revision
        while not self._stopping.is_set():
            pause_s = self._listen(block_ms)
            self._heard.set()
            block_ms = BLOCK_MS
            if pause_s:
                self._stopping.wait(pause_s)

    def _listen(self, block_ms: int) -> float:
        """One question; for how long to leave the DBSvrs alone after it."""
        held = self._held
        try:
            bundle = self._ask(self._known, block_ms, held.revision if held else 0)
        except DamagedRevision as error:
            self._trouble = ""
            self._note_unreadable(str(error))
            return PAUSE_S
        except DBSvrError as error:
            if not self._trouble:
                log.warning("no DBSvr hands the published tasks down; the last known stand", extra={"error": str(error)})
            self._trouble = str(error)
            return PAUSE_S * random.uniform(1, 1.5)
        except Exception:
            # The thread must outlive any fault, else this process would never hear of a revision again.
            log.exception("the published tasks could not be asked for; the last known stand")
            self._trouble = "a fault of this program, see its log"
            return PAUSE_S * random.uniform(1, 1.5)
        if self._trouble:
            log.info("the published tasks are handed down again")
            self._trouble = ""
        if bundle is not None:
            self._take(bundle)
        elif self._held is None and not self._known:
            self._held = _Held(0, NOTHING, "")
        if self._held is not None and self._held.etag == (self._known or ""):
            self._unreadable = ""
            self._confirm()
        return 0.0

    def _take(self, bundle: PublishedBundle) -> None:
        self._known = bundle.etag
        try:
            read = self._read(unpack_bundle(bundle))
        except (BadBody, BadBundle) as error:
            self._note_unreadable(f"revision {bundle.number}: {error}")
            return
        except Exception as error:
            log.exception("a bundle could not be loaded")
            self._note_unreadable(f"revision {bundle.number}: {error!r}")
            return
        for code, why in read.left_out.items():
            log.error("a task cannot be used here and is left out", extra={"code": code, "why": why})
        with self._taken:
            self._held = _Held(bundle.number, read, bundle.etag)
            self._taken.notify_all()
        log.info("published tasks taken over", extra={"revision": bundle.number, "tasks": len(read.tasks)})
        self._keep(bundle)

    def _note_unreadable(self, why: str) -> None:
        if why != self._unreadable:
            log.error("the newest published tasks cannot be read; the last good ones stand", extra={"why": why})
        self._unreadable = why

    def _confirm(self) -> None:
        self._confirmed_at = time.monotonic()
        if self._confirmed_at - self._touched_at >= TOUCH_EVERY_S:
            self._touched_at = self._confirmed_at
            with contextlib.suppress(OSError):  # said when it was written
                os.utime(self._path)  # its age is what a process that starts without a DBSvr will say

    def _keep(self, bundle: PublishedBundle) -> None:
        """Whole or not at all; processes of one host write the same. A disk that is full harms nobody here."""
        making = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            making.write_bytes(msgspec.msgpack.encode(bundle))
            os.replace(making, self._path)
        except OSError as error:
            log.error("the published tasks cannot be kept for the next start", extra={"file": str(self._path), "error": str(error)})

    def _take_kept(self) -> None:
        try:
            age_s = time.time() - self._path.stat().st_mtime
            bundle = msgspec.msgpack.decode(self._path.read_bytes(), type=PublishedBundle)
            read = self._read(unpack_bundle(bundle))
        except FileNotFoundError:
            return
        except Exception as error:  # noqa: BLE001  # whatever is in that file: it is as if there were none
            log.error("the kept published tasks cannot be read", extra={"file": str(self._path), "error": repr(error)})
            return
        self._held = _Held(bundle.number, read, bundle.etag)
        self._known = bundle.etag
        self._confirmed_at = time.monotonic() - max(0.0, age_s)


def _ask(known: int | str, block_ms: int, using: int | None) -> PublishedBundle | None:
    return db_interface().wait_for_config(known, block_ms, using)


live_bundle = LiveBundle(_ask, in_project(load().var_dir) / "state" / "live-bundle")


def live() -> Live:
    """What is published, as this process knows it. Raises NotKnownYet."""
    return live_bundle.get()

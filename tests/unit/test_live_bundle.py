"""What a process does with the published tasks that it is handed: use, keep, refuse, and say how old they are."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.tasks.evaluation.bundle import BadBundle, Bundle
from apps.tasks.live_bundle import LiveBundle, load_bundle
from apps.tasks.services.writing import decide_by_newest
from apps.tasks.watch import NotKnownYet
from tests.stack.revisions import compiled, damaged
from tests.stack.waiting import eventually
from workers.protocol import ConfigUnseen, DamagedRevision, OldRules, PublishedBundle


class DBSvrs:
    """Answers what the test has put in line; then it lets wait."""

    def __init__(self) -> None:
        self.answers: deque[PublishedBundle | Exception | None] = deque()
        self.asked: list[tuple[int | str, int | None]] = []
        self.is_over = threading.Event()

    def ask(self, known: int | str, block_ms: int, using: int | None) -> PublishedBundle | None:
        if not self.answers:
            until = time.monotonic() + 10
            while not self.answers and not self.is_over.wait(0.002) and time.monotonic() < until:
                pass
        answer = self.answers.popleft() if self.answers else None
        self.asked.append((known, using))
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def dbsvrs() -> DBSvrs:
    return DBSvrs()


Start = Callable[..., LiveBundle]


@pytest.fixture
def start(dbsvrs: DBSvrs, tmp_path: Path) -> Iterator[Start]:
    made = []

    def start_one(**more: object) -> LiveBundle:
        made.append(LiveBundle(dbsvrs.ask, tmp_path / "state" / "live-bundle", **more))  # type: ignore[arg-type]
        return made[-1]

    yield start_one
    dbsvrs.is_over.set()
    for each in made:
        each.stop()


def test_a_request_takes_what_was_handed_down_last(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(compiled(42))
    live = start()

    assert live.get().revision == live.get().bundle.revision == 42
    assert live.get().age_s < 5
    dbsvrs.answers.append(compiled(43))
    eventually(lambda: live.get().revision == 43)
    assert live.get().etag == compiled(43).etag
    dbsvrs.answers.append(None)
    eventually(lambda: len(dbsvrs.asked) == 3)
    assert dbsvrs.asked[0] == (0, 0)
    assert dbsvrs.asked[2] == (compiled(43).etag, 43)


def test_before_the_first_publication_there_are_no_tasks(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(None)
    live = start()

    assert (live.get().revision, live.get().bundle.tasks) == (0, ())
    dbsvrs.answers.append(compiled(1))
    eventually(lambda: live.get().revision == 1)


def test_while_nobody_answers_the_last_known_stands_and_ages(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(compiled(42))
    live = start()
    live.get()
    dbsvrs.answers.extend([ConfigUnseen("not seen")] * 2)

    eventually(lambda: live.get().age_s > 0.7)

    assert live.get().revision == 42
    assert live.state == "revision 42, not confirmed for 1 s"
    dbsvrs.answers.append(None)
    eventually(lambda: live.get().age_s < 0.5)
    assert live.state == "revision 42"


def test_without_a_word_from_anybody_nothing_is_made_up(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(ConfigUnseen("not seen"))
    live = start()

    with pytest.raises(NotKnownYet, match="not seen"):
        live.get()
    assert live.state == "none is known yet"


def test_a_process_that_starts_while_nobody_answers_begins_with_what_its_host_has_kept(
    start: Start, dbsvrs: DBSvrs, tmp_path: Path
) -> None:
    dbsvrs.answers.append(compiled(42))
    start().get()
    kept = tmp_path / "state" / "live-bundle"
    an_hour_ago = time.time() - 3600
    os.utime(kept, (an_hour_ago, an_hour_ago))
    dbsvrs.answers.append(None)  # for the first process
    eventually(lambda: len(dbsvrs.asked) == 2)
    dbsvrs.is_over.set()
    dbsvrs.is_over = threading.Event()
    dbsvrs.answers.extend([ConfigUnseen("not seen")] * 20)

    later = start().get()

    assert later.revision == 42
    assert 3500 < later.age_s < 3700


@pytest.mark.parametrize("content", [b"", b"\x93\x01\x02", os.urandom(100)], ids=["empty", "other", "noise"])
def test_a_kept_file_that_is_none_is_as_none(start: Start, dbsvrs: DBSvrs, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "live-bundle").write_bytes(content)
    dbsvrs.answers.append(compiled(42))

    assert start().get().revision == 42


def _refuses_43(data: bytes) -> object:
    if b'"revision":43' in data:
        raise BadBundle("not known to this version")
    return load_bundle(data)


def _breaks_on_43(data: bytes) -> object:
    if b'"revision":43' in data:
        raise ZeroDivisionError("a fault of ours")
    return load_bundle(data)


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (damaged(43), load_bundle),
        (compiled(43), _refuses_43),
        (compiled(43), _breaks_on_43),
        (DamagedRevision("revision 43 cannot be read"), load_bundle),
    ],
)
def test_one_that_cannot_be_read_leaves_the_last_good_one_and_is_said(
    start: Start, dbsvrs: DBSvrs, answer: PublishedBundle | Exception, read: Callable[[bytes], object], caplog: pytest.LogCaptureFixture
) -> None:
    dbsvrs.answers.append(compiled(42))
    live = start(read=read)
    live.get()
    dbsvrs.answers.append(answer)

    eventually(lambda: live.state == "revision 42, a newer one cannot be read")

    assert live.get().revision == 42
    assert "cannot be read" in caplog.text
    dbsvrs.answers.append(compiled(44))
    eventually(lambda: live.state == "revision 44")
    known, using = dbsvrs.asked[2]
    assert using == 42
    assert known == (answer.etag if isinstance(answer, PublishedBundle) else compiled(42).etag), "none is sent twice"


def test_a_fault_in_asking_does_not_end_the_listening(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.extend([compiled(42), ZeroDivisionError("a fault of ours"), compiled(43)])

    live = start()

    eventually(lambda: live.get().revision == 43)


def test_where_nothing_can_be_kept_all_goes_on(start: Start, dbsvrs: DBSvrs, tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"in the way")
    dbsvrs.answers.append(compiled(42))

    assert start().get().revision == 42


def test_who_needs_a_newer_revision_waits_for_it_and_no_longer_than_he_may(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(compiled(42))
    live = start()
    live.get()

    assert live.get_at_least(42, within_s=0).revision == 42  # type: ignore[union-attr]
    assert live.get_at_least(43, within_s=0.05) is None
    threading.Timer(0.1, dbsvrs.answers.append, [compiled(44)]).start()
    assert live.get_at_least(43, within_s=10).revision == 44  # type: ignore[union-attr]


def test_a_write_that_was_decided_by_old_rules_is_decided_again_by_those_that_the_user_has_met(start: Start, dbsvrs: DBSvrs) -> None:
    dbsvrs.answers.append(compiled(42))
    live = start()
    decided: list[int] = []

    def write(bundle: Bundle) -> str:
        decided.append(bundle.revision)
        if bundle.revision < 44:
            dbsvrs.answers.extend([compiled(43), compiled(44)])
            raise OldRules("44 is the revision of the record")
        return "written"

    assert decide_by_newest(write, time.monotonic() + 10, live) == "written"
    assert decided == [42, 44], "what lies between is not tried"
    with pytest.raises(OldRules):
        decide_by_newest(lambda bundle: _refuse(bundle.revision + 1), time.monotonic() + 0.05, live)


def _refuse(revision: int) -> str:
    raise OldRules(f"{revision} is the revision of the record")

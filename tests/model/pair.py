"""Two DBSvrs and one segment: who may write, who may read from a replica, and how that changes.

A model beside `state`, for INV 12 and 13: what goes on inside one DBSvr (workers, queues) is left to that one, and here each
takes its steps as a whole. One user stands for the segment. His state is the tuple of the events applied to him. Time is a countdown:
`time passes` takes one from every lease and every wait at once, and may come at any moment; a DBSvr that is frozen is one that takes no
step meanwhile.

The database is a log of which the master shows all but what is about to be committed, and each replica a beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.state import ACKNOWLEDGED, NEW, UNKNOWN, WAITING, Events, put, without

A, B = 0, 1
NAMES = "AB"
LEASE = 1
"""One unit of time: a lease that runs out with the first `time passes`."""
NOT_WAITING = -1


@dataclass(frozen=True)
class PairScenario:
    """How much may happen, at any moment and in any order."""

    events: tuple[str, ...] = ("e1", "e2")
    reads: int = 2
    takeovers: int = 1
    gives: int = 0
    promotions: int = 0
    """The master is lost, and replica 1 takes its place, whatever it has applied."""
    replicas: int = 1
    ticking: int = 3
    """How often time passes."""
    replicas_run_ahead: bool = False
    """A replica may show what the master is about to show: the binary log is sent before the commit ends."""


@dataclass(frozen=True)
class PairRules:
    """The rules of a pair; all are kept unless a case breaks one."""

    fence_writes: bool = True
    fence_by_a_lock: bool = True
    owner_has_a_lease: bool = True
    lease_counts_from_sending: bool = True
    wait_out_the_lease: bool = True
    wait_counts_from_the_reply: bool = True
    takeover_raises_the_floor: bool = True
    others_read_by_a_lock: bool = True
    let_go_before_giving: bool = True
    change_of_master_is_a_takeover: bool = True
    known_ends_with_the_epoch: bool = True
    """A user whom its own writes have left behind is taken as known only while it has owned him ever since."""
    no_reads_beside_a_commit: bool = True
    """The owner's worker does not ask the master while a COMMIT of its own is under way."""


class Entry(NamedTuple):
    """A commit, and what stands in the rows after it."""

    instance: int
    tick: int
    events: Events
    owner: int
    epoch: int


class Transaction(NamedTuple):
    """`loaded` is what it found of the user, None before it has looked; `place` where it stands in the log, once it does."""

    event: str
    loaded: Events | None = None
    place: int = -1


class Svr(NamedTuple):
    owner: int = A
    epoch: int = 1
    """By its last look."""
    lease: int = 0
    """What is left of it."""
    answer: tuple[int, int, int] | None = None
    """A look whose answer is on its way: (what is left of its lease if it says that we own, owner, epoch)."""
    possessed: int = 0
    """The epoch for which every earlier lease has run out, and a fresh tick was committed."""
    wait: int = NOT_WAITING
    """For an epoch that is ours: until it may be possessed."""
    is_sending: bool = False
    """An UPDATE of the owner is on its way to the master."""
    floor: int = 1
    stamp: int = 0
    event: str = ""
    """The write that it has accepted; its outcome is not known."""
    transaction: Transaction | None = None
    lets_go: bool = False
    """It gives its segment to the other: it accepts no write, and is sure of nothing."""
    has_claimed: bool = True
    """It writes to the master in reach."""
    known: tuple[int, Events] | None = None
    """The user as its last write has left him, and the epoch under which it did."""


class PairRead(NamedTuple):
    svr: int
    must_see: Events
    stamp: int
    """For a replica; 0: the master's to answer."""
    is_locking: bool


class PairState(NamedTuple):
    log: tuple[Entry, ...]
    shown: int
    """How many entries the master shows."""
    applied: tuple[int, ...]
    svrs: tuple[Svr, Svr]
    clients: tuple[str, ...]
    reads: tuple[PairRead, ...] = ()
    reads_begun: int = 0
    seen: Events = ()
    acknowledged: frozenset[str] = frozenset()
    takeovers: int = 0
    gives: int = 0
    promotions: int = 0
    time: int = 0

    @property
    def row(self) -> Entry:
        return self.log[self.shown - 1]


class PairStep(NamedTuple):
    """`got`: what a read that ends by it returns, and what it had to see."""

    sentence: str
    state: PairState
    got: tuple[Events, Events] | None = None


def first_pair_state(scenario: PairScenario) -> PairState:
    """A owns the segment and knows the user, both have committed a tick, and the replicas have applied both."""
    log = (Entry(A, 1, (), A, 1), Entry(B, 1, (), A, 1))
    svrs = (Svr(lease=LEASE, possessed=1, known=(1, ())), Svr())
    return PairState(log, 2, (2,) * scenario.replicas, svrs, (NEW,) * len(scenario.events))


def pair_steps(state: PairState, scenario: PairScenario, rules: PairRules) -> Iterator[PairStep]:
    """Whatever can happen next."""
    for svr in (A, B):
        yield from _writes(state, scenario, rules, svr)
        yield from _looks(state, rules, svr)
        yield from _ownership(state, scenario, rules, svr)
        yield from _new_reads(state, scenario, rules, svr)
    yield from _answers(state, rules)
    yield from _database(state, scenario, rules)
    if state.time < scenario.ticking:
        yield PairStep("time passes", state._replace(time=state.time + 1, svrs=(_older(state.svrs[A]), _older(state.svrs[B]))))


def _older(svr: Svr) -> Svr:
    answer = svr.answer and (max(0, svr.answer[0] - 1), *svr.answer[1:])
    return svr._replace(lease=max(0, svr.lease - 1), wait=svr.wait - 1 if svr.wait > 0 else svr.wait, answer=answer)


def _with(state: PairState, svr: int, **changes: object) -> PairState:
    return state._replace(svrs=put(state.svrs, svr, state.svrs[svr]._replace(**changes)))  # type: ignore[arg-type]


def _is_possessed(it: Svr, svr: int) -> bool:
    return it.owner == svr and it.possessed == it.epoch


def _is_sure(it: Svr, svr: int, rules: PairRules) -> bool:
    return _is_possessed(it, svr) and not it.lets_go and (it.lease > 0 or not rules.owner_has_a_lease)


def _user_row_is_locked(state: PairState) -> bool:
    return any(it.transaction is not None and it.transaction.place >= state.shown for it in state.svrs)


def _segment_row_is_locked(state: PairState, rules: PairRules) -> bool:
    return rules.fence_writes and rules.fence_by_a_lock and any(it.transaction is not None for it in state.svrs)


def _append(state: PairState, svr: int, **changes: object) -> tuple[PairState, int]:
    """A commit that shows at once, and its tick. Only when nothing stands in the log before it that does not show yet."""
    tick = 1 + max(entry.tick for entry in state.log if entry.instance == svr)
    entry = state.row._replace(instance=svr, tick=tick, **changes)  # type: ignore[arg-type]
    return state._replace(log=(*state.log, entry), shown=state.shown + 1), tick


# -- writes


def _writes(state: PairState, scenario: PairScenario, rules: PairRules, svr: int) -> Iterator[PairStep]:
    it, name = state.svrs[svr], NAMES[svr]
    transaction = it.transaction
    if not it.event:
        for place, event in enumerate(scenario.events):
            if state.clients[place] in (NEW, UNKNOWN) and _is_possessed(it, svr) and not it.lets_go and it.has_claimed:
                accepted = _with(state, svr, event=event)._replace(clients=put(state.clients, place, WAITING))
                yield PairStep(f"{name} accepts the write {event}", accepted)
        return
    place = scenario.events.index(it.event)
    if transaction is None:
        if not it.has_claimed:
            return
        if rules.fence_writes and (state.row.owner, state.row.epoch) != (svr, it.possessed):
            yield PairStep(f"{name} is not the owner: {it.event} is refused", _refused(state, svr, place))
        else:
            yield PairStep(f"{name} begins a transaction for {it.event}", _with(state, svr, transaction=Transaction(it.event)))
    elif transaction.loaded is None:
        if it.known is not None and (it.known[0] == state.row.epoch or not rules.known_ends_with_the_epoch):
            events, words = it.known[1], "knows the user"
        else:
            events, words = state.row.events, "loads the user"
        yield PairStep(f"{name} {words}: {_say(events)}", _with(state, svr, transaction=transaction._replace(loaded=events)))
    elif transaction.place < 0:
        if not _user_row_is_locked(state) and state.shown == len(state.log):
            is_known = it.event in transaction.loaded
            events = transaction.loaded if is_known else (*transaction.loaded, it.event)
            after, _ = _append(state, svr, events=events)
            after = after._replace(shown=state.shown)
            after = _with(after, svr, transaction=transaction._replace(place=state.shown))
            yield PairStep(f"{name} sends COMMIT of {it.event}: the log has {_say(events)}", after)
        if svr == A:
            ended = _refused(state, svr, place)
            yield PairStep(f"the server ends {name}'s transaction, which idles too long", _with(ended, svr, transaction=None))
    elif transaction.place < state.shown:
        tick, events, epoch = (entry := state.log[transaction.place]).tick, entry.events, entry.epoch
        told = _with(state, svr, transaction=None, event="", stamp=max(it.stamp, tick), known=(epoch, events))._replace(
            clients=put(state.clients, place, ACKNOWLEDGED),
            acknowledged=state.acknowledged | {it.event},
            seen=events if len(events) > len(state.seen) else state.seen,
        )
        yield PairStep(f"{name} acknowledges {it.event}", told)


def _refused(state: PairState, svr: int, place: int) -> PairState:
    return _with(state, svr, event="", transaction=None)._replace(clients=put(state.clients, place, UNKNOWN))


# -- who owns it


def _looks(state: PairState, rules: PairRules, svr: int) -> Iterator[PairStep]:
    it, name = state.svrs[svr], NAMES[svr]
    if not it.has_claimed:
        return
    if it.answer is None:
        if it.lease < LEASE or (state.row.owner, state.row.epoch) != (it.owner, it.epoch):
            looked = _with(state, svr, answer=(LEASE, state.row.owner, state.row.epoch))
            yield PairStep(f"{name} looks: {NAMES[state.row.owner]} owns it, epoch {state.row.epoch}", looked)
        return
    left, owner, epoch = it.answer
    lease = (left if rules.lease_counts_from_sending else LEASE) if owner == svr else 0
    wait = it.wait
    if owner != svr:
        wait = NOT_WAITING
    elif it.possessed != epoch and (it.owner, it.epoch) != (owner, epoch) and wait == NOT_WAITING:
        wait = LEASE if rules.wait_out_the_lease else 0
    lets_go = it.lets_go and owner == svr and epoch == it.epoch
    yield PairStep(
        f"{name} has the answer to its look",
        _with(state, svr, answer=None, owner=owner, epoch=epoch, lease=lease, wait=wait, lets_go=lets_go),
    )


def _ownership(state: PairState, scenario: PairScenario, rules: PairRules, svr: int) -> Iterator[PairStep]:
    it, name, other = state.svrs[svr], NAMES[svr], 1 - svr
    row_is_free = not _segment_row_is_locked(state, rules) and state.shown == len(state.log)
    if it.has_claimed and not it.is_sending and state.takeovers < scenario.takeovers and state.row.owner == other and it.owner == other:
        wait = NOT_WAITING if rules.wait_counts_from_the_reply else LEASE
        yield PairStep(f"{name} sends its takeover", _with(state, svr, is_sending=True, wait=wait)._replace(takeovers=state.takeovers + 1))
    if it.is_sending and it.has_claimed and row_is_free and state.row.owner == other:
        epoch = state.row.epoch + 1
        taken, _ = _append(state, svr, owner=svr, epoch=epoch)
        wait = it.wait if not rules.wait_counts_from_the_reply else LEASE if rules.wait_out_the_lease else 0
        yield PairStep(
            f"{name} takes the segment over, epoch {epoch}",
            _with(taken, svr, is_sending=False, owner=svr, epoch=epoch, wait=wait, lease=0, answer=None),
        )
    if it.owner == svr and it.wait == 0 and it.has_claimed and state.shown == len(state.log):
        ready, tick = _append(state, svr)
        floor = tick if rules.takeover_raises_the_floor else it.floor
        ready = _with(ready, svr, wait=NOT_WAITING, possessed=it.epoch, floor=floor)
        yield PairStep(f"{name} commits a fresh tick, {tick}: it possesses epoch {it.epoch}", ready)
    if state.gives < scenario.gives and _is_possessed(it, svr) and not it.lets_go and it.has_claimed:
        yield PairStep(f"{name} is asked to give the segment", _with(state, svr, lets_go=True)._replace(gives=state.gives + 1))
    if it.lets_go and not it.event and row_is_free and state.row.owner == svr and state.row.epoch == it.epoch and it.has_claimed:
        epoch = state.row.epoch + 1
        given, _ = _append(state, svr, owner=other, epoch=epoch)
        # Who gives has let go before: nothing of its lease is left, and who receives waits for nothing. An order to give names an epoch:
        # who gets the segment back does not give it again for the old one.
        given = _with(given, other, owner=other, epoch=epoch, wait=0, lease=0, answer=None, lets_go=False)
        if not rules.let_go_before_giving:
            given = _with(given, svr, lets_go=False)
        yield PairStep(f"{name} gives the segment, epoch {epoch}", given)


# -- reads


def _new_reads(state: PairState, scenario: PairScenario, rules: PairRules, svr: int) -> Iterator[PairStep]:
    if state.reads_begun >= scenario.reads:
        return
    it, name = state.svrs[svr], NAMES[svr]
    ways: list[tuple[str, int, bool]] = []
    if not _is_sure(it, svr, rules):
        ways.append(("it is not sure, so the master's by a lock", 0, rules.others_read_by_a_lock))
    elif it.event:
        ways.append(("a write is in flight, so the master's", 0, False))
    else:
        stamp = max(it.stamp, it.floor)
        ways.append((f"a replica's, at {stamp}", stamp, False))
        ways.append(("the master's", 0, False))
    for words, stamp, is_locking in ways:
        read = PairRead(svr, state.seen, stamp, is_locking)
        begun = state._replace(reads=(*state.reads, read), reads_begun=state.reads_begun + 1)
        yield PairStep(f"a read comes to {name}: {words}; it must see {_say(state.seen)}", begun)


def _answers(state: PairState, rules: PairRules) -> Iterator[PairStep]:
    for place, read in enumerate(state.reads):
        it, name = state.svrs[read.svr], NAMES[read.svr]
        if read.stamp:
            for number, applied in enumerate(state.applied, 1):
                shown = state.log[:applied]
                tick = max((entry.tick for entry in shown if entry.instance == read.svr), default=0)
                if tick >= read.stamp:
                    yield _ended(state, place, shown[-1].events, f"replica {number} answers {name}")
        elif it.has_claimed and _may_ask(it, rules) and not (read.is_locking and _user_row_is_locked(state)):
            yield _ended(state, place, state.row.events, f"the master answers {name}")


def _may_ask(it: Svr, rules: PairRules) -> bool:
    """Its worker reads beside a transaction that is being made, not beside a COMMIT."""
    return it.transaction is None or it.transaction.place < 0 or not rules.no_reads_beside_a_commit


def _ended(state: PairState, place: int, got: Events, sentence: str) -> PairStep:
    read = state.reads[place]
    seen = got if len(got) > len(state.seen) else state.seen
    return PairStep(f"{sentence}: {_say(got)}", state._replace(reads=without(state.reads, place), seen=seen), (got, read.must_see))


# -- the database


def _database(state: PairState, scenario: PairScenario, rules: PairRules) -> Iterator[PairStep]:
    if state.shown < len(state.log):
        yield PairStep("the master shows what is in the log", state._replace(shown=state.shown + 1))
    limit = len(state.log) if scenario.replicas_run_ahead else state.shown
    for place, applied in enumerate(state.applied):
        if applied < limit:
            yield PairStep(
                f"replica {place + 1} applies entry {applied + 1}", state._replace(applied=put(state.applied, place, applied + 1))
            )
    if state.promotions < scenario.promotions and len(state.applied) > 1 and state.applied[0] >= state.applied[1]:
        yield PairStep("the master is lost, replica 1 takes its place", _promoted(state))
    for svr in (A, B):
        it = state.svrs[svr]
        if not it.has_claimed and state.shown == len(state.log):
            yield _claimed(state, rules, svr)


def _promoted(state: PairState) -> PairState:
    kept = state.log[: state.applied[0]]
    events = kept[-1].events
    # What the database has lost is excused.
    seen = events if len(state.seen) > len(events) or state.seen != events[: len(state.seen)] else state.seen
    reads = tuple(
        read._replace(must_see=read.must_see if read.must_see == events[: len(read.must_see)] else events) for read in state.reads
    )
    svrs = tuple(it._replace(has_claimed=False, transaction=None, answer=None, is_sending=False, known=None) for it in state.svrs)
    return state._replace(
        log=kept,
        shown=len(kept),
        applied=state.applied[1:],
        svrs=svrs,  # type: ignore[arg-type]
        reads=reads,
        seen=seen,
        acknowledged=state.acknowledged & set(events),
        promotions=state.promotions + 1,
    )


def _claimed(state: PairState, rules: PairRules, svr: int) -> PairStep:
    """Its first life at the new master: a fresh tick above all that it had, and a first look."""
    it, row = state.svrs[svr], state.row
    newest = 1 + max(it.stamp, it.floor, *(entry.tick for entry in state.log if entry.instance == svr))
    entry = row._replace(instance=svr, tick=newest)
    is_ours = row.owner == svr
    is_kept = is_ours and it.possessed == row.epoch and not rules.change_of_master_is_a_takeover
    claimed = it._replace(
        has_claimed=True,
        owner=row.owner,
        epoch=row.epoch,
        lease=LEASE if is_ours else 0,
        possessed=row.epoch if is_kept else 0,
        wait=LEASE if is_ours and not is_kept else NOT_WAITING,
        floor=newest,
        stamp=0,
        lets_go=False,
    )
    after = state._replace(log=(*state.log, entry), shown=state.shown + 1, svrs=put(state.svrs, svr, claimed))
    return PairStep(f"{NAMES[svr]} claims the new master with a fresh tick, {newest}", after)


def _say(events: Events) -> str:
    return "+".join(events) or "nothing"

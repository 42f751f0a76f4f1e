"""What happens at the DBSvr: the trail, the commit with its purge rows, and how it forgets.

Pure. Follows workers/user_info.py, workers/dispatch.py and workers/write_batches.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.cache.configuration import Rules, Scenario
from tests.model.cache.state import (
    ANSWERED,
    ASKED,
    COMMITTED,
    HAS,
    MISSED,
    NO_NODES,
    SENT,
    Copy,
    Fill,
    Front,
    Read,
    Row,
    Stamp,
    State,
    Step,
    Token,
    Write,
    committed,
    count_up,
    name_of,
    names_of,
    put_node,
    put_write,
    without_write,
)


def front_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    for read in state.reads:
        if read.phase == MISSED:
            yield _hear_read(state, read, rules)
        elif read.phase == ASKED:
            yield from _query(state, read)
        else:
            yield _answer_read(state, read, rules)
    for place, write in enumerate(state.writes):
        if write.phase == SENT:
            yield _commit(state, place, write, rules)
        elif write.phase == COMMITTED:
            yield _hear_outcome(state, place, write, rules)
    for row in state.front.late_rows:
        front = state.front._replace(late_rows=state.front.late_rows - {row})
        yield Step(f"the purge row of {name_of(row.node)} for {row.stamp} is written", state._replace(front=front, rows=state.rows | {row}))
    yield from _forget(state, scenario, rules)


def record(state: State, node: int) -> State:
    """The node comes on the trail, and on that of every write under way."""
    writes = tuple(write._replace(since=write.since | {node}) if write.phase in (SENT, COMMITTED) else write for write in state.writes)
    return state._replace(front=state.front._replace(trail=state.front.trail | {node}), writes=writes)


def accept(state: State, event: str, node: int, rules: Rules) -> State:
    """A write arrives from a logic node beside `node`: its purge list is fixed, and reads under way may store no more."""
    front = state.front
    everywhere = frozenset(number for number, each in enumerate(state.nodes) if not each.is_removed)
    named = everywhere if front.is_lost and rules.lost_trail_means_every_node else front.trail
    reads = state.reads
    if rules.not_storable_after_a_write_was_accepted:
        reads = frozenset(each if each.is_to_former else each._replace(may_store=False) for each in reads)
    accepted = record(state, node)
    return accepted._replace(reads=reads, writes=(*accepted.writes, Write(event, node, SENT, named - {node})), sent=state.sent | {event})


def _is_in_flight(state: State) -> bool:
    return any(write.phase in (SENT, COMMITTED) for write in state.writes)


def _hear_read(state: State, read: Read, rules: Rules) -> Step:
    if read.is_to_former:
        asked = read._replace(
            phase=ASKED, run=state.front.run - 1, low=state.front.former_known, may_store=not rules.storable_only_from_the_owner
        )
        return Step(f"read {read.number} reaches the former owner", _put_read(state, read, asked))
    may_store = not (rules.not_storable_beside_a_write_in_flight and _is_in_flight(state))
    asked = read._replace(phase=ASKED, run=state.front.run, low=state.front.known, may_store=may_store)
    after = _put_read(state, read, asked)
    if not rules.record_before_the_read:
        return Step(f"the front hears of read {read.number}", after)
    return Step(f"the front records {name_of(read.node)} for read {read.number}", record(after, read.node))


def _query(state: State, read: Read) -> Iterator[Step]:
    newest = committed(state)
    oldest = read.low.version if read.low.generation == newest.generation else newest.version
    for version in range(oldest, newest.version + 1):
        got = Stamp(newest.generation, version)
        yield Step(f"read {read.number} is answered by a database: {got}", _put_read(state, read, read._replace(phase=HAS, got=got)))


def _answer_read(state: State, read: Read, rules: Rules) -> Step:
    after = state._replace(reads=state.reads - {read})
    if not rules.record_before_the_read and not read.is_to_former:
        after = record(after, read.node)
    # Both were looked at when it arrived; a write that came since has taken `may_store` away.
    if not read.may_store:
        return Step(f"read {read.number} is answered with {read.got}, not storable", after)
    fill = Fill(read.node, Copy(read.got, read.run), Token(read.number, _run_of_token(state, read)))
    return Step(f"read {read.number} is answered with {read.got}, storable", after._replace(fills=after.fills | {fill}))


def _run_of_token(state: State, read: Read) -> int:
    return next((token.run for token in state.nodes[read.node].tokens if token.read == read.number), 0)


def _commit(state: State, place: int, write: Write, rules: Rules) -> Step:
    is_repeat = write.event in state.applied
    after = state if is_repeat else state._replace(applied=(*state.applied, write.event))
    stamp = committed(after)
    rows = frozenset(Row(node, stamp) for node in write.named)
    if is_repeat and not rules.repeat_purges_the_trail:
        rows = frozenset()
    if rules.rows_in_the_transaction:
        after = after._replace(rows=after.rows | rows)
    else:
        after = after._replace(front=after.front._replace(late_rows=after.front.late_rows | rows))
    to_purge = frozenset(row.node for row in rows)
    if rules.answer_names_all_pending:
        to_purge |= frozenset(row.node for row in after.rows)
    if not rules.answer_names_the_own_node:
        to_purge -= {write.asker}
    done = write._replace(phase=COMMITTED, stamp=stamp, is_repeat=is_repeat, to_purge=to_purge)
    what = f"{write.event} was applied before, the user is at {stamp}" if is_repeat else f"{write.event} is committed as {stamp}"
    return Step(f"{what}, with purge rows for {names_of(frozenset(row.node for row in rows))}", put_write(after, place, done))


def _hear_outcome(state: State, place: int, write: Write, rules: Rules) -> Step:
    front = state.front._replace(known=max(state.front.known, write.stamp))
    since = write.since if rules.keep_nodes_that_come_meanwhile else NO_NODES
    if write.is_repeat and rules.repeat_keeps_the_trail:
        front = front._replace(trail=front.trail | {write.asker})
    else:
        front = front._replace(trail=since | {write.asker}, is_lost=False)
    after = state._replace(front=front)
    what = f"the front hears of {write.event} from {name_of(write.asker)}, the trail is now {names_of(front.trail)}"
    if write.is_dead:
        return Step(what, without_write(after, place))
    return Step(what, put_write(after, place, write._replace(phase=ANSWERED)))


def _put_read(state: State, read: Read, after: Read) -> State:
    return state._replace(reads=state.reads - {read} | {after})


# --- how it forgets ---


def _forget(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    spent, front = state.spent, state.front
    if spent.front_ends < scenario.front_ends:
        gone = _without_requests(state, _fresh(state), frozenset())
        yield Step("the front is killed; the next one knows no trail", gone._replace(spent=count_up(state, "front_ends")))
    if spent.takeovers < scenario.takeovers:
        gone = _without_requests(state, _fresh(state)._replace(former_known=front.known), _of_a_former_owner(state, rules))
        yield Step("another DBSvr takes the user over", gone._replace(spent=count_up(state, "takeovers")))
    if spent.forgets < scenario.forgets and not _is_in_flight(state):
        dropped = state._replace(front=front._replace(run=front.run + 1, trail=NO_NODES, is_lost=True), spent=count_up(state, "forgets"))
        yield Step("the front drops the trail to make room", dropped)
    if spent.rises < scenario.rises:
        for lost in range(min(1, len(state.applied)) + 1):
            yield _rise(state, len(state.applied) - lost, rules)
    if front.is_lost and scenario.time_passes:
        yield _let_copies_die(state, rules)


def _fresh(state: State) -> Front:
    return Front(run=state.front.run + 1, is_lost=True, known=committed(state))


def _without_requests(state: State, front: Front, reads: frozenset[Read]) -> State:
    """What the old front was doing is answered by nobody, but for `reads`; what logic nodes have in hand goes on."""
    missed = frozenset(read for read in state.reads if read.phase == MISSED)
    writes = tuple(write for write in state.writes if write.phase not in (SENT, COMMITTED))
    return state._replace(front=front, reads=missed | reads, writes=writes)


def _of_a_former_owner(state: State, rules: Rules) -> frozenset[Read]:
    """It does not know yet that it is one, and goes on with its reads."""
    return frozenset(
        read._replace(is_to_former=True, may_store=read.may_store and not rules.storable_only_from_the_owner)
        for read in state.reads
        if read.phase != MISSED
    )


def _rise(state: State, kept: int, rules: Rules) -> Step:
    lost = state.applied[kept:]
    generation = state.generation + 1
    after = _without_requests(state._replace(generation=generation, applied=state.applied[:kept]), state.front, frozenset())
    after = after._replace(
        front=Front(run=state.front.run + 1, is_lost=True, known=committed(after)),
        rows=frozenset(row for row in state.rows if row.stamp.version <= kept),
        spent=count_up(state, "rises"),
    )
    newest, left = Stamp(generation, 0), Stamp(state.generation, kept)
    for number, node in enumerate(after.nodes):
        # What the databases have lost nobody can be asked to show.
        after = put_node(after, number, node._replace(must=min(node.must, left), bound=min(node.bound, left), owed=newest))
    if rules.flush_when_the_generation_rises:
        after = after._replace(rows=after.rows | {Row(number, newest) for number in range(len(after.nodes))})
    return Step(f"generation {generation} begins with {len(after.applied)} events; lost: {'+'.join(lost) or 'nothing'}", after)


def _let_copies_die(state: State, rules: Rules) -> Step:
    run = state.front.run
    after = state._replace(front=state.front._replace(is_lost=False))
    for number, node in enumerate(state.nodes):
        copy = node.copy if node.copy is not None and node.copy.run >= run else None
        tokens = node.tokens
        if rules.lost_until_no_token_is_left:
            tokens = frozenset(token for token in tokens if token.run >= run)
        after = put_node(after, number, node._replace(copy=copy, tokens=tokens))
    return Step("the life of every copy has passed that an earlier run knew of, and every deadline", after)

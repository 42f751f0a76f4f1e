"""What databases do by themselves: commit or roll back, replicate, and lose what nobody else could save.

Pure. A replica applies the master's commits in their order, at any moment or never; a lost master leaves what one replica
has; what is lost that way is taken out of what clients may still expect.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.configuration import Rules, Scenario
from tests.model.state import (
    AWAY,
    DONE,
    NOTHING,
    Commit,
    Commits,
    Database,
    Replica,
    State,
    Step,
    Transaction,
    Worker,
    common_beginning,
    count_up,
    position,
    put,
    user_state,
    without,
)


def database_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    transaction = state.database.transaction
    if transaction is not None:
        yield from _end_transaction(state, transaction, scenario, rules)
    for place, block in enumerate(state.database.sent):
        yield from _come_to(state, place, block, rules)
    for number, replica in enumerate(state.replicas):
        if replica.commits is not None:
            yield from _replicate(state, number, replica, replica.commits, scenario)
            if replica.commits and state.spent.replica_restores < scenario.replica_restores:
                restored = put(state.replicas, number, Replica(known=replica.known))
                yield Step(
                    f"replica {number + 1} is replaced by one that has applied nothing yet",
                    state._replace(replicas=restored, spent=count_up(state, "replica_restores")),
                )
    yield from _lose(state, scenario)


def _end_transaction(state: State, transaction: Transaction, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    event = transaction.event
    is_present = state.worker.life == transaction.life and state.worker.phase != AWAY
    is_frozen = state.frozen is not None and state.frozen.life == transaction.life
    commit = next_commit(state.database, event, rules)
    database = state.database._replace(commits=(*state.database.commits, commit), transaction=None)
    yield Step(
        f"the master commits {event} at tick {commit.tick}",
        _committed(state._replace(database=database), transaction.life, commit.tick),
    )
    if not scenario.master_first and not transaction.is_logged:
        for number, replica in enumerate(state.replicas):
            if replica.commits == state.database.commits:
                ahead = put(state.replicas, number, replica._replace(commits=(*replica.commits, commit)))
                logged = state.database._replace(transaction=transaction._replace(is_logged=True))
                yield Step(
                    f"replica {number + 1} applies {event} before the master shows it", state._replace(replicas=ahead, database=logged)
                )
    if not is_present and not is_frozen and not transaction.is_logged:
        yield Step(f"the master rolls {event} back", state._replace(database=state.database._replace(transaction=None)))


def next_commit(database: Database, event: str, rules: Rules) -> Commit:
    generation, tick = position(database.commits)
    is_known = rules.check_event_ids and event in user_state(database.commits)
    return Commit(generation, tick + 1, NOTHING if is_known else event)


def _committed(state: State, life: int, tick: int) -> State:
    """The life that sent it hears of it, if it is the present one."""
    if state.worker.life == life and state.worker.phase != AWAY:
        return state._replace(worker=state.worker._replace(phase=DONE, tick=tick))
    return state._replace(frozen=None) if state.frozen is not None and state.frozen.life == life else state


def _come_to(state: State, place: int, block: Transaction, rules: Rules) -> Iterator[Step]:
    """The master comes to a block at any moment, also when the life that has sent it is over."""
    database = state.database._replace(sent=without(state.database.sent, place))
    event, is_over = block.event, rules.fence_by_epoch and block.life != database.epoch
    if database.transaction is None and not is_over:
        yield Step(
            f"the master bumps the tick for {event}, and holds its row", state._replace(database=database._replace(transaction=block))
        )
    elif database.transaction is None and rules.fence_in_the_block:
        ended = state._replace(database=database)
        if state.frozen is not None and state.frozen.life == block.life:
            ended = ended._replace(frozen=None)
        yield Step(f"the master finds no row to bump for {event}, and ends the block", ended)
    elif database.transaction is None:
        commit = next_commit(database, event, rules)
        commit = commit._replace(tick=commit.tick - 1)
        after = database._replace(commits=(*database.commits, commit))
        yield Step(
            f"the master finds no row to bump for {event}, and commits it",
            _committed(state._replace(database=after), block.life, commit.tick),
        )
    is_awaited = state.worker.life == block.life and state.worker.phase != AWAY
    if not is_awaited and not (state.frozen is not None and state.frozen.life == block.life):
        yield Step(f"the master never reads {event}, the connection is gone", state._replace(database=database))


def _replicate(state: State, number: int, replica: Replica, applied: Commits, scenario: Scenario) -> Iterator[Step]:
    name, commits = f"replica {number + 1}", state.database.commits
    if applied == commits[: len(applied)]:
        waiting = commits[len(applied) :]
    else:
        # It has applied what the master lacks. Replication by position goes on all the same, after the fork.
        waiting = tuple(commit for commit in commits if commit.generation > applied[0].generation and commit not in applied)
        if scenario.stops_past_the_fork or (scenario.looked_at_the_fork and replica.looked_at != position(applied)):
            return
    if waiting:
        yield _apply(state, number, replica, applied, waiting[0], name)
    if len(waiting) > 1 and not scenario.in_commit_order:
        yield _apply(state, number, replica, applied, waiting[1], f"{name}, out of order,")


def _apply(state: State, number: int, replica: Replica, applied: Commits, commit: Commit, name: str) -> Step:
    what = f"{commit.event}, tick {commit.tick}" if commit.event else f"tick {commit.tick}"
    return Step(
        f"{name} applies {what}", state._replace(replicas=put(state.replicas, number, replica._replace(commits=(*applied, commit))))
    )


def _lose(state: State, scenario: Scenario) -> Iterator[Step]:
    if state.spent.promotions < scenario.promotions:
        for number, replica in enumerate(state.replicas):
            if replica.commits and not replica.is_refused:
                others = put(state.replicas, number, replica._replace(commits=None))
                spent = count_up(state, "promotions")
                database = Database(replica.commits, state.database.epoch, is_promoted=True)
                former = Database(state.database.commits, state.database.epoch, is_former=True) if scenario.returns else None
                kept = f"{len(replica.commits)} of {len(state.database.commits)} commits"
                yield Step(
                    f"the master is lost; replica {number + 1} takes its place with {kept}",
                    _with_less(state._replace(replicas=others, spent=spent, beside=former), database),
                )
    if state.beside is not None:
        yield from _exchange(state, state.beside, scenario)
    if state.spent.master_restores < scenario.master_restores:
        for length in range(1, len(state.database.commits)):
            if scenario.restore_is_known and position(state.database.commits[:length]) >= (state.front.generation, state.front.newest):
                continue
            database = Database(state.database.commits[:length], state.database.epoch)
            spent = count_up(state, "master_restores")
            yield Step(
                f"the master is restored to its first {length} of {len(state.database.commits)} commits",
                _with_less(state._replace(spent=spent), database),
            )


def _exchange(state: State, beside: Database, scenario: Scenario) -> Iterator[Step]:
    if state.database.is_former:
        sentence, spent = "the promoted master is in reach again", state.spent
    elif state.spent.returns < scenario.returns and not state.is_unaware:
        sentence, spent = "the former master is back, the promoted one out of reach", count_up(state, "returns")
    else:
        return
    left = state.database._replace(transaction=None)
    yield Step(sentence, state._replace(database=beside, beside=left, worker=Worker(0, AWAY), frozen=None, spent=spent))


def _with_less(state: State, database: Database) -> State:
    """All connections to the old master end. What is lost with it nobody may expect any more: that is excused, and only that."""
    kept = user_state(database.commits)
    return state._replace(
        database=database,
        worker=Worker(0, AWAY),
        frozen=None,
        reads=tuple(read._replace(must_see=common_beginning(read.must_see, kept)) for read in state.reads),
        shown=common_beginning(state.shown, kept),
        acknowledged=state.acknowledged.intersection(kept),
        is_unaware=True,
    )

"""What workers do: the master's worker lives, freezes and dies; the replicas' workers receive, query and prove.

Pure. Follows workers/master_db_svr.py, workers/slave_db_svr.py and the order of statements in workers/store.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.configuration import Rules, Scenario
from tests.model.reads import end_read, send_to_master
from tests.model.state import (
    AWAY,
    CLAIMED,
    DONE,
    IDLE,
    MASTER_ONLY,
    NOTHING,
    RECEIVED,
    SENT,
    Commit,
    Commits,
    Events,
    Replica,
    State,
    Step,
    Transaction,
    Worker,
    count_up,
    position,
    put,
    user_state,
)


def worker_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    if state.front.is_up and state.worker.phase == AWAY:
        yield from _claim(state, scenario, rules)
    elif state.worker.phase == IDLE:
        yield from _answer_from_master(state, scenario, rules)
    yield from _write(state, state.worker, is_frozen=False)
    if state.frozen is not None:
        yield from _write(state, state.frozen, is_frozen=True)
    if state.worker.phase != AWAY and state.spent.worker_ends < scenario.worker_ends:
        yield from _end(state, rules)
    for number in range(len(state.replicas)):
        yield from _answer_from_replica(state, number, scenario, rules)


def _claim(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    """A life begins: a new epoch and a fresh tick in one transaction, once the tick row's lock is free."""
    database, front = state.database, state.front
    generation, tick = position(database.commits)
    life = database.epoch + 1
    if not rules.commit_a_fresh_tick:
        ready = Worker(life, CLAIMED, tick=tick, generation=generation)
        yield Step(f"life {life} looks at tick {tick}", state._replace(worker=ready, database=database._replace(epoch=life)))
        return
    known = (front.generation, front.newest)
    if rules.hear_the_replicas_first and (scenario.promotions or scenario.master_restores):
        if not front.generation and any(replica.commits and replica.looked_at == (0, 0) for replica in state.replicas):
            return  # it remembers nothing, and a replica has not said yet what it shows
        known = max(known, *(replica.looked_at for replica in state.replicas))
    is_outdated = database.is_former and generation < known[0]
    if database.transaction is not None or (is_outdated and rules.refuse_a_former_master):
        return
    went_back = (generation, tick) < known and rules.new_generation_when_ticks_go_back
    if went_back or (database.is_promoted and rules.new_generation_at_promotion):
        generation = max(generation, known[0]) + 1
    fresh = Commit(generation, tick + 1, NOTHING)
    yield Step(
        f"life {life} claims: fresh tick {fresh.tick}, generation {generation}",
        state._replace(
            worker=Worker(life, CLAIMED, tick=fresh.tick, generation=generation),
            database=database._replace(commits=(*database.commits, fresh), epoch=life, is_promoted=False),
        ),
    )


def _write(state: State, worker: Worker, is_frozen: bool) -> Iterator[Step]:
    database, life = state.database, worker.life
    name = f"the old life {life}" if is_frozen else f"life {life}"

    def goes_on(phase: str, event: str) -> State:
        after = worker._replace(phase=phase, event=event)
        return state._replace(frozen=after) if is_frozen else state._replace(worker=after)

    if worker.phase == IDLE and state.finish_queue:
        event = state.finish_queue[0]
        yield Step(f"{name} receives {event}", goes_on(RECEIVED, event)._replace(finish_queue=state.finish_queue[1:]))
    elif worker.phase == RECEIVED:
        block = Transaction(life, worker.event)
        sent = goes_on(SENT, worker.event)._replace(database=database._replace(sent=(*database.sent, block)))
        yield Step(f"{name} sends {worker.event}, from BEGIN to COMMIT", sent)


def _end(state: State, rules: Rules) -> Iterator[Step]:
    worker = state.worker
    spent = count_up(state, "worker_ends")
    front = state.front
    if not rules.marks_stay_until_the_fresh_tick:
        front = front._replace(pending=tuple(each._replace(is_marked=False) for each in front.pending))
    gone = state._replace(worker=Worker(0, AWAY), front=front, spent=spent)
    yield Step(f"life {worker.life} is killed", gone)
    if state.frozen is None and worker.phase not in (CLAIMED, DONE):
        yield Step(f"life {worker.life} freezes and is given up", gone._replace(frozen=worker))


def _answer_from_master(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    """Any read: MASTER_ONLY, or one that a replica might serve as well (spill, aged, handed back)."""
    got = user_state(state.database.commits)
    front = state.front._replace(newest=max(state.front.newest, state.database.commits[-1].tick))
    for place, read in enumerate(state.reads):
        if read.received_by < 0 and read.got is None:
            yield _answer(state._replace(front=front), place, got, state.worker.generation, "the master", scenario, rules)


def _answer_from_replica(state: State, number: int, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    replica = state.replicas[number]
    if replica.commits is None:
        return
    generation, tick = position(replica.commits)
    name = f"replica {number + 1}"
    got = _read_or_recall(replica, replica.commits, rules) if scenario.knows else user_state(replica.commits)
    after = put(state.replicas, number, replica._replace(known=(generation, got) if scenario.knows else None))
    for place, read in enumerate(state.reads):
        if read.stamp == MASTER_ONLY or read.got is not None:
            continue
        may = read.stamp <= tick and read.generation == generation and not replica.is_refused
        if read.received_by == number:
            if may or not rules.prove_by_snapshot:
                yield _answer(state._replace(replicas=after), place, got, generation, f"{name}, at tick {tick},", scenario, rules)
            else:
                yield send_to_master(state, place, f"{name} hands the read back: its snapshot shows tick {tick}")
        elif read.received_by < 0 and may:
            if scenario.receive_apart:
                received = put(state.reads, place, read._replace(received_by=number))
                yield Step(f"{name} receives the read with stamp {read.stamp}, at tick {tick}", state._replace(reads=received))
            else:
                yield _answer(state._replace(replicas=after), place, got, generation, f"{name}, at tick {tick},", scenario, rules)


def _read_or_recall(replica: Replica, commits: Commits, rules: Rules) -> Events:
    shown, known = user_state(commits), replica.known
    if known is None or (rules.forget_known_with_the_generation and known[0] != position(commits)[0]):
        return shown
    is_that_version = len(known[1]) == len(shown)
    return known[1] if is_that_version or not rules.hold_known_against_version else shown


def _answer(state: State, place: int, got: tuple[str, ...], generation: int, who: str, scenario: Scenario, rules: Rules) -> Step:
    answered = state.reads[place]._replace(got=got, generation=generation)
    if scenario.answer_apart:
        return Step(f"{who} reads {'+'.join(got) or 'nothing'}", state._replace(reads=put(state.reads, place, answered)))
    return end_read(state, place, answered, rules, f"{who} answers")

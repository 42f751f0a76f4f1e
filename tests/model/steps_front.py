"""What the front and its clients do: accept, route, hear the worker, acknowledge, forget.

Pure. Follows workers/dispatch.py and workers/user_info.py, whose rules are spelt out here once more, so that leaving one out is
one condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.configuration import Rules, Scenario
from tests.model.reads import end_read
from tests.model.state import (
    ACKNOWLEDGED,
    AWAY,
    CLAIMED,
    DONE,
    IDLE,
    MASTER_ONLY,
    NEW,
    SENT,
    UNKNOWN,
    WAITING,
    Commits,
    Front,
    Pending,
    Read,
    Replica,
    State,
    Step,
    Worker,
    count_up,
    position,
    put,
    user_state,
    without,
)


def front_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    if not state.front.is_up:
        yield Step("a new front starts", state._replace(front=Front(generation=0)))
        return
    yield from _accept_writes(state, scenario)
    yield from _accept_reads(state, scenario, rules)
    if state.worker.phase == CLAIMED:
        yield _begin_life(state, rules)
    elif state.worker.phase == DONE:
        yield _acknowledge(state, scenario, rules)
    elif state.worker.phase == SENT and not rules.acknowledge_after_commit:
        yield _acknowledge_early(state, state.worker.event, scenario)
    if state.front.late_stamp:
        front = state.front._replace(stamp=max(state.front.stamp, state.front.late_stamp), late_stamp=0)
        yield Step(f"the front sets the stamp {front.stamp}, late", state._replace(front=front))
    yield from _give_up_waiting(state, scenario)
    yield from _drop_stamp(state, scenario, rules)
    if scenario.promotions or scenario.master_restores:
        yield from _hear_of_replicas(state, rules)
    for place, read in enumerate(state.reads):
        if read.got is not None:
            yield end_read(state, place, read, rules, "the answer arrives")
    if state.spent.front_ends < scenario.front_ends:
        yield from _end(state, rules)


def _is_ready(worker: Worker) -> bool:
    return worker.phase not in (AWAY, CLAIMED)


def _accept_writes(state: State, scenario: Scenario) -> Iterator[Step]:
    for place, event in enumerate(scenario.events):
        known = state.clients[place]
        if known == NEW:
            sentence, spent = f"the front accepts the write {event}", state.spent
        elif known == UNKNOWN and state.spent.repeats < scenario.repeats:
            sentence, spent = f"the front accepts the write {event} again", count_up(state, "repeats")
        else:
            continue
        yield Step(
            sentence,
            state._replace(
                front=state.front._replace(pending=(*state.front.pending, Pending(event))),
                finish_queue=(*state.finish_queue, event) if _is_ready(state.worker) else state.finish_queue,
                clients=put(state.clients, place, WAITING),
                spent=spent,
            ),
        )


def _accept_reads(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    if state.spent.reads >= scenario.reads:
        return
    front, spent = state.front, count_up(state, "reads")
    is_in_flight = rules.mark_in_flight and any(pending.is_marked for pending in front.pending)
    stamp = MASTER_ONLY if is_in_flight or not front.base else max(front.stamp, front.floor)
    read = Read(stamp, front.generation, state.shown)
    must_see = f"must see {'+'.join(state.shown) or 'nothing'}"
    sentence = f"a read arrives: {'MASTER_ONLY' if stamp == MASTER_ONLY else f'stamp {stamp}'}, {must_see}"
    yield Step(sentence, state._replace(reads=_in_order((*state.reads, read)), spent=spent))
    if scenario.may_group and stamp != MASTER_ONLY:
        # What the others' largest stamp is, this user cannot know: any tick that the front has heard of.
        for of_group in range(front.base, front.newest + 1):
            if of_group > stamp or (of_group < stamp and not rules.group_at_the_largest_stamp):
                grouped = read._replace(stamp=of_group)
                sentence = f"a read with stamp {stamp} arrives, and travels in a group with stamp {of_group}, {must_see}"
                yield Step(sentence, state._replace(reads=_in_order((*state.reads, grouped)), spent=spent))
    if not scenario.may_share:
        return
    for place, waiting in enumerate(state.reads):
        if waiting.got is not None and rules.share_only_before_the_query:
            continue
        if waiting.stamp < stamp and rules.share_only_at_or_above_own_stamp:
            continue
        both = waiting._replace(must_see=max(waiting.must_see, state.shown, key=len))
        yield Step(
            f"a read arrives and shares the query of one with stamp {waiting.stamp}, {must_see}",
            state._replace(reads=put(state.reads, place, both), spent=spent),
        )


def _in_order(reads: tuple[Read, ...]) -> tuple[Read, ...]:
    """Any of them may be served first, so their order is no difference between two states."""
    return tuple(sorted(reads, key=repr))


def _begin_life(state: State, rules: Rules) -> Step:
    """Ready is heard: nobody older can commit any more, and what was undecided is decided anew (INV 3)."""
    front, worker = state.front, state.worker
    tick, generation = worker.tick, worker.generation
    if generation != front.generation:
        front = front._replace(
            generation=generation,
            base=tick,
            floor=tick,
            stamp=0,
            newest=tick,
            fork_generation=generation,
            fork_tick=_fork_tick(state.database.commits, generation),
        )
    elif not front.base:
        front = front._replace(base=tick, floor=tick)
    front = front._replace(newest=max(front.newest, tick))
    if front.pending and rules.raise_stamps_of_undecided:
        front = front._replace(stamp=max(front.stamp, tick))
    # Whose client has gone is decided here: it happened before the fresh tick or never. The others are handed on.
    pending = tuple(each for each in front.pending if not each.is_timed_out)
    queue = tuple(each.event for each in pending)
    if not rules.ignore_older_runs:
        queue = (*state.finish_queue, *queue)
    return Step(
        f"the front hears that life {worker.life} is ready: fresh tick {tick}, generation {generation}",
        state._replace(
            front=front._replace(pending=pending),
            worker=worker._replace(phase=IDLE, tick=0),
            finish_queue=queue,
            replicas=tuple(_refuse(front, replica, rules) for replica in state.replicas),
            is_unaware=False,
        ),
    )


def _fork_tick(commits: Commits, generation: int) -> int:
    """As the master's row says it: the last tick before this generation."""
    return next(commit.tick for commit in commits if commit.generation == generation) - 1


def _refuse(front: Front, replica: Replica, rules: Rules) -> Replica:
    generation, tick = replica.looked_at
    is_past = 0 < generation < front.fork_generation and tick > front.fork_tick
    return replica._replace(is_refused=True) if is_past and rules.refuse_past_the_fork else replica


def _acknowledge(state: State, scenario: Scenario, rules: Rules) -> Step:
    """The outcome is heard: the stamp, then the mark, then the answer (INV 1)."""
    front, worker = state.front, state.worker
    event, tick = worker.event, worker.tick
    front = front._replace(newest=max(front.newest, tick))
    place = next((place for place, each in enumerate(front.pending) if each.event == event), None)
    idle = state._replace(front=front, worker=Worker(worker.life, IDLE, generation=worker.generation))
    if place is None:
        return Step(f"the front hears of {event}, which it does not know", idle)
    decided = front.pending[place]
    front = front._replace(pending=without(front.pending, place))
    front = front._replace(stamp=max(front.stamp, tick)) if rules.stamp_before_answer else front._replace(late_stamp=tick)
    if decided.is_timed_out:
        return Step(f"the front hears of {event}, whose client has given up: stamp {tick}", idle._replace(front=front))
    applied = user_state(tuple(commit for commit in state.database.commits if commit.tick <= tick))
    return Step(
        f"the front sets the stamp {tick} and acknowledges {event}" if rules.stamp_before_answer else f"the front acknowledges {event}",
        idle._replace(
            front=front,
            clients=put(state.clients, scenario.events.index(event), ACKNOWLEDGED),
            acknowledged=state.acknowledged | {event},
            shown=max(state.shown, applied, key=len),
        ),
    )


def _acknowledge_early(state: State, event: str, scenario: Scenario) -> Step:
    place = scenario.events.index(event)
    early = state._replace(clients=put(state.clients, place, ACKNOWLEDGED), acknowledged=state.acknowledged | {event})
    return Step(f"the front acknowledges {event}, whose COMMIT was sent", early)


def _give_up_waiting(state: State, scenario: Scenario) -> Iterator[Step]:
    if state.spent.timeouts >= scenario.timeouts:
        return
    for place, pending in enumerate(state.front.pending):
        if not pending.is_timed_out:
            timed_out = put(state.front.pending, place, pending._replace(is_timed_out=True))
            yield Step(
                f"{pending.event} times out: its client does not know whether it happened",
                state._replace(
                    front=state.front._replace(pending=timed_out),
                    clients=put(state.clients, scenario.events.index(pending.event), UNKNOWN),
                    spent=count_up(state, "timeouts"),
                ),
            )


def _drop_stamp(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    front = state.front
    if front.stamp and state.spent.drops < scenario.drops:
        floor = max(front.floor, front.stamp) if rules.dropped_stamp_raises_floor else front.floor
        yield Step(
            f"the front drops the stamp {front.stamp}, its floor is {floor}",
            state._replace(front=front._replace(stamp=0, floor=floor), spent=count_up(state, "drops")),
        )


def _hear_of_replicas(state: State, rules: Rules) -> Iterator[Step]:
    for place, replica in enumerate(state.replicas):
        if not replica.commits or replica.looked_at == position(replica.commits):
            continue
        generation, tick = position(replica.commits)
        # A newer generation than ours: its fork is not known yet, and what the replica showed before must be held against it then.
        is_newer = generation > max(state.front.generation, replica.looked_at[0]) > 0
        if is_newer and rules.keep_the_look_before_a_newer_generation:
            continue
        seen = _refuse(state.front, replica._replace(looked_at=(generation, tick)), rules)
        more = ": refused until rebuilt" if seen.is_refused else ""
        yield Step(
            f"the front hears of replica {place + 1}: tick {tick} of generation {generation}{more}",
            state._replace(replicas=put(state.replicas, place, seen)),
        )


def _end(state: State, rules: Rules) -> Iterator[Step]:
    """Killed: all that it knew and all that waits is gone. Its worker ends with it, or goes on for a while."""
    gone = state._replace(
        front=Front(is_up=False),
        worker=Worker(0, AWAY),
        finish_queue=() if rules.ignore_older_runs else state.finish_queue,
        reads=(),
        replicas=tuple(replica._replace(looked_at=(0, 0), is_refused=False) for replica in state.replicas),
        clients=tuple(UNKNOWN if known == WAITING else known for known in state.clients),
        spent=count_up(state, "front_ends"),
    )
    yield Step("the front is killed, its worker with it", gone)
    if state.frozen is None and state.worker.phase not in (AWAY, CLAIMED, DONE):
        yield Step("the front is killed, its worker lives on", gone._replace(frozen=state.worker))

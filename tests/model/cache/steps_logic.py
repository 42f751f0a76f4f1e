"""What happens at the logic nodes: readers who miss, writers with their two steps, and how both end.

Pure. Follows apps/cachesync/task_interface.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.cache.configuration import Rules, Scenario
from tests.model.cache.state import (
    ANSWERED,
    COMMITTED,
    MISSED,
    NO_NODES,
    ROWED,
    SENT,
    Nodes,
    Read,
    Row,
    Settling,
    State,
    Step,
    Token,
    Write,
    count_up,
    name_of,
    put_node,
    put_write,
    without_write,
)
from tests.model.cache.steps_front import accept
from tests.model.cache.steps_node import is_usable, purge, settle


def logic_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    yield from _miss(state, scenario, rules)
    yield from _send(state, scenario, rules)
    for place, write in enumerate(state.writes):
        if write.phase in (ANSWERED, ROWED):
            yield from _finish(state, place, write, rules)
        if state.spent.deaths < scenario.deaths and not write.is_dead:
            yield _die(state, place, write)


def _miss(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    spent = state.spent
    for number, node in enumerate(state.nodes):
        if scenario.read_at and number not in scenario.read_at:
            continue
        # Who finds a token reads through and stores nothing: nothing comes of it here.
        if node.copy is not None or not is_usable(state, number, rules) or (node.tokens and rules.one_token_at_a_time):
            continue
        token = Token(1 + spent.reads + spent.former_reads, state.front.run)
        left = put_node(state, number, node._replace(tokens=node.tokens | {token}))
        what = f"read {token.read} misses at {name_of(number)} and leaves its token"
        if spent.reads < scenario.reads:
            read = Read(token.read, number, MISSED, token.run)
            yield Step(what, left._replace(reads=state.reads | {read}, spent=count_up(state, "reads")))
        if state.front.former_known.generation and spent.former_reads < scenario.former_reads:
            read = Read(token.read, number, MISSED, token.run, is_to_former=True)
            after = left._replace(reads=state.reads | {read}, spent=count_up(state, "former_reads"))
            yield Step(f"{what}; it will ask the former owner", after)


def _send(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    for place, event in enumerate(scenario.events):
        if event in state.acknowledged:
            continue
        is_again = event in state.sent
        if is_again and state.spent.repeats >= scenario.repeats:
            continue
        for number, node in enumerate(state.nodes):
            if node.is_removed or (scenario.sent_from and number not in scenario.sent_from[place]):
                continue
            after = accept(state, event, number, rules)
            if is_again:
                after = after._replace(spent=count_up(state, "repeats"))
            named = after.writes[-1].named
            what = f"{event} is sent{' again' if is_again else ''} from {name_of(number)}"
            yield Step(f"{what}, on the trail: {'+'.join(map(name_of, sorted(named))) or 'no other'}", after)


def _finish(state: State, place: int, write: Write, rules: Rules) -> Iterator[Step]:
    """INV 9: the nodes that the answer names, then the own node, then the client."""
    if write.to_purge and rules.purge_before_the_answer:
        yield from (_purge(state, place, write, number, rules) for number in sorted(write.to_purge))
        return
    number = write.asker
    settling = Settling(number, write.stamp, write.is_repeat)
    what = f"the writer of {write.event}"
    if write.phase == ROWED or not rules.settle:
        yield _acknowledge(state, place, what)
    elif state.nodes[number].is_removed:
        yield _acknowledge(state, place, f"{what} finds its node removed")
    elif not state.nodes[number].is_cut:
        yield _acknowledge(settle(state, settling, rules), place, f"{what} settles {name_of(number)}")
    else:
        late = state._replace(settlings=state.settlings | {settling})
        if rules.own_row_when_not_confirmed:
            rowed = late._replace(rows=state.rows | {Row(number, write.stamp)})
            after = put_write(rowed, place, write._replace(phase=ROWED, unreached=write.unreached | {number}))
            yield Step(f"{what} does not reach its {name_of(number)}, and commits a purge row for it", after)
        else:
            yield _acknowledge(late, place, f"{what} does not reach its {name_of(number)}", frozenset({number}))


def _purge(state: State, place: int, write: Write, number: int, rules: Rules) -> Step:
    left = write._replace(to_purge=write.to_purge - {number})
    what = f"the writer of {write.event}"
    node = state.nodes[number]
    if node.is_removed:
        return Step(f"{what} finds {name_of(number)} removed", put_write(state, place, left))
    if node.is_cut:
        after = put_write(state, place, left._replace(unreached=left.unreached | {number}))
        return Step(f"{what} does not reach {name_of(number)}", after)
    return Step(f"{what} purges {name_of(number)}", purge(put_write(state, place, left), number, write.stamp, rules))


def _acknowledge(state: State, place: int, what: str, unreached: Nodes = NO_NODES) -> Step:
    write = state.writes[place]
    after = without_write(state, place)._replace(acknowledged=state.acknowledged | {write.event})
    for number, node in enumerate(after.nodes):
        if number not in write.unreached | unreached:
            node = node._replace(must=max(node.must, write.stamp))
        elif write.stamp > max(node.must, node.bound):
            node = node._replace(owed=max(node.owed, write.stamp))
        after = put_node(after, number, node)
    return Step(f"{what}, and the client is answered: {write.stamp}", after)


def _die(state: State, place: int, write: Write) -> Step:
    spent = count_up(state, "deaths")
    what = f"the logic node that has sent {write.event} from {name_of(write.asker)} dies"
    if write.phase in (SENT, COMMITTED):
        return Step(what, put_write(state, place, write._replace(is_dead=True))._replace(spent=spent))
    return Step(what, without_write(state, place)._replace(spent=spent))

"""What happens at a cache node: the scripts, and how it fails.

Pure. Follows apps/cachesync/scripts.py; `purge` is all that the cache sync center, a writer and a flush do to a node.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.cache.configuration import Rules, Scenario
from tests.model.cache.state import (
    NEVER,
    Copy,
    Fill,
    Overwritten,
    Row,
    Served,
    Settling,
    Stamp,
    State,
    Step,
    committed,
    count_up,
    name_of,
    put_node,
)


def node_steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    for number in range(len(state.nodes)):
        yield from _hits(state, number, scenario, rules)
        yield from _troubles(state, number, scenario, rules)
        yield from _grace(state, number)
    for fill in state.fills:
        yield _fill(state, fill, rules)
    for settling in state.settlings:
        gone = state._replace(settlings=state.settlings - {settling})
        if not state.nodes[settling.node].is_cut:
            after = settle(gone, settling, rules)
            yield Step(f"a settle of {settling.stamp} reaches {name_of(settling.node)} late", after)
    for row in state.rows:
        yield from _center(state, row, rules)


def is_usable(state: State, number: int, rules: Rules) -> bool:
    """May anybody serve from it? Every web process looks for purges past their grace."""
    node = state.nodes[number]
    if node.is_removed:
        return False
    return not (rules.serve_nothing_past_grace and any(row.node == number and row.stamp <= node.due for row in state.rows))


def is_older(one: Stamp, other: Stamp, rules: Rules) -> bool:
    return one < other if rules.compare_generations_first else one.version < other.version


def purge(state: State, number: int, stamp: Stamp, rules: Rules) -> State:
    """The node confirms: what is older is gone, so are tokens, and the rows of it are closed."""
    node = state.nodes[number]
    kept = None if node.copy is not None and is_older(node.copy.stamp, stamp, rules) else node.copy
    tokens = frozenset() if rules.purge_takes_tokens else node.tokens
    # Whoever excused himself for this node is excused no more.
    must = max(node.must, node.owed) if stamp >= node.owed else node.must
    closed = frozenset(row for row in state.rows if row.node != number or row.stamp > stamp)
    writes = tuple(
        write._replace(unreached=write.unreached - {number}) if number in write.unreached and write.stamp <= stamp else write
        for write in state.writes
    )
    return put_node(state._replace(rows=closed, writes=writes), number, node._replace(copy=kept, tokens=tokens, must=must))


def settle(state: State, settling: Settling, rules: Rules) -> State:
    """The writer's own node is set right, in one script."""
    number, stamp, is_repeat = settling
    node = state.nodes[number]
    if is_repeat and rules.repeat_is_not_written_through:
        return purge(state, number, stamp, rules)
    copy = node.copy
    if copy is None:
        kept = None if rules.settle_creates_none else Copy(stamp, state.front.run)
    elif not is_older(copy.stamp, stamp, rules):
        kept = copy
    else:
        is_base = copy.stamp == Stamp(stamp.generation, stamp.version - 1)
        life = copy.run if rules.settle_keeps_the_life else state.front.run
        kept = Copy(stamp, life) if is_base or not rules.settle_replaces_only_its_base else None
    tokens = frozenset() if rules.settle_takes_tokens else node.tokens
    return put_node(state, number, node._replace(copy=kept, tokens=tokens))


def _hits(state: State, number: int, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    node = state.nodes[number]
    if node.copy is None or node.is_removed:
        return
    served = Served(number, node.copy.stamp)
    if is_usable(state, number, rules):
        yield Step(f"a reader hits {name_of(number)}: {node.copy.stamp}", state, served)
    elif scenario.reader_is_blind and not rules.use_only_after_a_look:
        yield Step(f"a reader who has not looked for purges hits {name_of(number)}: {node.copy.stamp}", state, served)


def _fill(state: State, fill: Fill, rules: Rules) -> Step:
    number, copy, token = fill
    node = state.nodes[number]
    gone = state._replace(fills=state.fills - {fill})
    what = f"the fill of read {token.read} with {copy.stamp} reaches {name_of(number)}"
    if rules.fill_needs_its_token and token not in node.tokens:
        return Step(f"{what}: no token", gone)
    without_token = node._replace(tokens=node.tokens - {token})
    if rules.store_only_over_an_older_copy and node.copy is not None and not is_older(node.copy.stamp, copy.stamp, rules):
        return Step(f"{what}: not newer", put_node(gone, number, without_token))
    overwritten = None if node.copy is None else Overwritten(number, node.copy.stamp, copy.stamp)
    return Step(f"{what}: stored", put_node(gone, number, without_token._replace(copy=copy)), overwritten=overwritten)


def _center(state: State, row: Row, rules: Rules) -> Iterator[Step]:
    node = state.nodes[row.node]
    if node.is_removed:
        yield Step(f"the center closes the purge of {name_of(row.node)}, which is removed", state._replace(rows=state.rows - {row}))
    elif not node.is_cut:
        yield Step(f"the center purges {name_of(row.node)} for {row.stamp}", purge(state, row.node, row.stamp, rules))
    elif not rules.close_only_what_is_confirmed:
        closed = state._replace(rows=state.rows - {row})
        yield Step(f"the center closes the purge of {name_of(row.node)}, which has not answered", closed)


def _grace(state: State, number: int) -> Iterator[Step]:
    node = state.nodes[number]
    due = max((row.stamp for row in state.rows if row.node == number), default=node.due)
    bound = max(node.bound, node.owed)
    if (due, bound) != (node.due, node.bound):
        after = node._replace(due=due, bound=bound, owed=NEVER)
        yield Step(f"the grace of {name_of(number)} has passed", put_node(state, number, after))


def _troubles(state: State, number: int, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    node, spent, name = state.nodes[number], state.spent, name_of(number)
    if scenario.evictions:
        if node.copy is not None:
            yield Step(f"{name} evicts its copy", put_node(state, number, node._replace(copy=None)))
        for token in node.tokens:
            yield Step(
                f"the token of read {token.read} on {name} is gone", put_node(state, number, node._replace(tokens=node.tokens - {token}))
            )
    if node.is_cut:
        yield Step(f"{name} can be reached again", put_node(state, number, node._replace(is_cut=False)))
    elif spent.cuts < scenario.cuts:
        cut = put_node(state, number, node._replace(is_cut=True))
        yield Step(f"{name} is cut off from writers and center", cut._replace(spent=count_up(state, "cuts")))
    if spent.restarts < scenario.restarts:
        if node.copy is not None and node.saved != node.copy:
            yield Step(f"{name} saves its copy to disk", put_node(state, number, node._replace(saved=node.copy)))
        back = None if rules.restarted_node_is_empty else node.saved
        restarted = put_node(state, number, node._replace(copy=back, tokens=frozenset()))
        yield Step(f"{name} is killed and started again", restarted._replace(spent=count_up(state, "restarts")))
    if node.is_removed and not rules.added_node_is_flushed:
        yield Step(f"{name} is added again", put_node(state, number, node._replace(is_removed=False)))
    elif node.is_removed and not node.is_cut:
        flushed = purge(state, number, committed(state), rules)
        empty = flushed.nodes[number]._replace(is_removed=False, copy=None, tokens=frozenset())
        yield Step(f"{name} is flushed and added again", put_node(flushed, number, empty))
    elif spent.removals < scenario.removals:
        removed = put_node(state, number, node._replace(is_removed=True))
        yield Step(f"{name} is removed", removed._replace(spent=count_up(state, "removals")))

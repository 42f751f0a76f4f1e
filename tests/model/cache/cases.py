"""What is explored: configurations in which the promises must hold, the same with one rule broken, and where the promises end.

A broken rule must give a counterexample, and the promise that it breaks is named. So a rule that turns out to be needless, or a
model too small to need it, fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.model.cache.configuration import Rules, Scenario
from tests.model.cache.explore import explore
from tests.model.explore import HOLDS, Finding

ALL_KEPT = Rules()


@dataclass(frozen=True)
class CacheCase:
    """As in the protocol's model: `breaks` is the promise that the counterexample must break: C, B or M; empty where all
    must hold, to the last state."""

    name: str
    scenario: Scenario
    rules: Rules = ALL_KEPT
    breaks: str = ""
    is_quick: bool = True
    """Explored in the unit layer; the others in `make test-long`."""

    def explore(self, most_states: int = 3_000_000) -> Finding:
        return explore(self.scenario, self.rules, most_states)

    def is_met_by(self, finding: Finding) -> bool:
        if not self.breaks:
            return finding.verdict == HOLDS
        return finding.violation is not None and finding.violation.promise == self.breaks


ONE_WRITE = ("e1",)
THREE_WRITES = ("e1", "e2", "e3")

ONE = Scenario(events=ONE_WRITE)
TWO = Scenario()
DYING = replace(ONE, deaths=1, repeats=1)
CUT = replace(ONE, cuts=1)
FRONT = replace(ONE, front_ends=1)
TIME = replace(FRONT, time_passes=True)
FORMER = replace(ONE, reads=0, takeovers=1, former_reads=1)
RISE = replace(ONE, rises=1)
REMOVAL = replace(ONE, removals=1)
RESTART = replace(ONE, restarts=1)
BLIND = replace(CUT, reader_is_blind=True)
CROWD = replace(ONE, reads=2)
ASKERS = replace(TWO, reads=0)
HELD = replace(TWO, copies_at=(0,), reads=0, sent_from=((0,), (1,)))
LATE = replace(HELD, front_ends=1, time_passes=True)
EARLY = replace(HELD, repeats=1, sent_from=((0, 1), (1,)))
OVERTAKEN = replace(HELD, events=THREE_WRITES, sent_from=((0,), (1,), (1,)))

HOLD = [
    CacheCase("one write, two reads", CROWD),
    CacheCase("one write, one read", ONE),
    CacheCase("two writes from two nodes at once", ASKERS),
    CacheCase("two writes, one read", TWO, is_quick=False),
    CacheCase("a logic node dies, its client repeats elsewhere", DYING, is_quick=False),
    CacheCase("a node is cut off from writers and center", CUT),
    CacheCase("a node is cut off, and some web process can not look for purges", BLIND),
    CacheCase("the front is killed", FRONT),
    CacheCase("the front is killed, and time passes", TIME),
    CacheCase("another DBSvr takes over, the former owner reads on", FORMER),
    CacheCase("the generation rises", RISE, is_quick=False),
    CacheCase("a node is removed and added again", REMOVAL),
    CacheCase("a node is killed and started again", RESTART),
    CacheCase("the front is killed, a logic node is late, and time passes", LATE, is_quick=False),
    CacheCase("a client repeats early, from another node", EARLY, is_quick=False),
    CacheCase("three writes, the second overtakes the first", OVERTAKEN, is_quick=False),
    CacheCase("copies and tokens are evicted", replace(CROWD, evictions=True), is_quick=False),
    CacheCase("the front drops the trail to make room", replace(ONE, forgets=1, time_passes=True), is_quick=False),
    CacheCase("a node is cut off, its client repeats", replace(CUT, repeats=1), is_quick=False),
    CacheCase("a node is cut off while two write", replace(HELD, cuts=1), is_quick=False),
    CacheCase("a node is cut off, and its logic node dies", replace(CUT, deaths=1), is_quick=False),
    CacheCase("a node is cut off twice", replace(CUT, cuts=2), is_quick=False),
    CacheCase("a node is cut off, the front is killed", replace(HELD, cuts=1, front_ends=1), is_quick=False),
    CacheCase("a takeover, with a read of each owner", replace(FORMER, reads=1), is_quick=False),
    CacheCase("three nodes, one write", replace(ONE, nodes=3), is_quick=False),
    CacheCase("three nodes, one is cut off", replace(CUT, nodes=3), is_quick=False),
    CacheCase(
        "the generation rises while a node is cut off", replace(HELD, rises=1, cuts=1, events=ONE_WRITE, sent_from=()), is_quick=False
    ),
]


def _without(name: str, scenario: Scenario, rule: str, breaks: str, is_quick: bool = True) -> CacheCase:
    return CacheCase(name, scenario, Rules(**{rule: False}), breaks, is_quick)


BROKEN = [
    _without("INV 8 broken: an answer beside a write in flight is stored", ONE, "not_storable_beside_a_write_in_flight", "C"),
    _without("INV 8 broken: a former owner's answer is stored", FORMER, "storable_only_from_the_owner", "C"),
    _without("INV 8 broken: a fill needs no token", ONE, "fill_needs_its_token", "C"),
    _without("INV 8 broken: a purge leaves the tokens", ONE, "purge_takes_tokens", "C"),
    _without("INV 9 broken: purge rows are written after the commit", CUT, "rows_in_the_transaction", "B"),
    _without("INV 9 broken: the answer names only its own purges", TWO, "answer_names_all_pending", "C", is_quick=False),
    _without("INV 9 broken: the center alone purges", ONE, "purge_before_the_answer", "C"),
    _without("INV 9 broken: the own node is not settled", ONE, "settle", "C"),
    _without("INV 9 broken: a settle leaves the tokens", ONE, "settle_takes_tokens", "C"),
    _without("INV 9 broken: a settle creates a copy", ASKERS, "settle_creates_none", "C"),
    _without("INV 9 broken: a settle gives the copy a new life", LATE, "settle_keeps_the_life", "C", is_quick=False),
    _without("INV 9 broken: no row for an own node that did not confirm", CUT, "own_row_when_not_confirmed", "B"),
    _without("INV 9 broken: a repeat purges nothing", DYING, "repeat_purges_the_trail", "C", is_quick=False),
    _without("INV 9 broken: a repeat resets the trail", EARLY, "repeat_keeps_the_trail", "C", is_quick=False),
    _without("INV 10 broken: a lost trail is an empty one", FRONT, "lost_trail_means_every_node", "C"),
    _without("INV 10 broken: a trail is lost for the copies' life only", TIME, "lost_until_no_token_is_left", "C"),
    _without("INV 11 broken: a node serves past the grace", CUT, "serve_nothing_past_grace", "B"),
    _without("INV 11 broken: a purge is closed unconfirmed", CUT, "close_only_what_is_confirmed", "B"),
    _without("INV 11 broken: who can not look goes on", BLIND, "use_only_after_a_look", "B"),
    _without("INV 11 broken: a node brings back what it saved", RESTART, "restarted_node_is_empty", "C"),
    _without("INV 11 broken: a node is added with what it held", REMOVAL, "added_node_is_flushed", "C"),
    _without("generations: no flush when one begins", RISE, "flush_when_the_generation_rises", "B"),
    _without("generations: versions alone are compared", RISE, "compare_generations_first", "C"),
]


def _both(name: str, scenario: Scenario, rules: tuple[str, str], breaks: str, is_quick: bool = True) -> list[CacheCase]:
    """Each of the two holds alone; without both there is a counterexample."""
    one, other = rules
    return [
        CacheCase(f"two locks, without both: {name}", scenario, Rules(**{one: False, other: False}), breaks, is_quick),
        CacheCase(f"two locks, the second only: {name}", scenario, Rules(**{one: False}), "", is_quick),
        CacheCase(f"two locks, the first only: {name}", scenario, Rules(**{other: False}), "", is_quick),
    ]


TWO_LOCKS = [
    *_both(
        "the node is recorded before the read; no answer is storable that a write has overtaken",
        ONE,
        ("record_before_the_read", "not_storable_after_a_write_was_accepted"),
        "C",
    ),
    *_both(
        "a fill goes only over an older copy; one token at a time",
        CROWD,
        ("store_only_over_an_older_copy", "one_token_at_a_time"),
        "M",
    ),
    *_both(
        "a settle replaces only its base; the own node's pending purge comes first",
        OVERTAKEN,
        ("settle_replaces_only_its_base", "answer_names_the_own_node"),
        "C",
        is_quick=False,
    ),
]

SPARE = [
    _without(
        "no counterexample: nodes that come while a write runs fall off the trail",
        TWO,
        "keep_nodes_that_come_meanwhile",
        "",
        is_quick=False,
    ),
    _without("no counterexample: a repeat is written through", EARLY, "repeat_is_not_written_through", "", is_quick=False),
]
"""Rules that the others make needless, in what is explored here. They cost nothing, and are kept for what is not."""

CACHE_CASES = [*HOLD, *BROKEN, *TWO_LOCKS, *SPARE]

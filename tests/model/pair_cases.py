"""What is explored of the pair: configurations that must hold, and the same with one rule of INV 12 or 13 broken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.model.explore import HOLDS, Finding, search
from tests.model.pair import PairRules, PairScenario, PairStep, first_pair_state, pair_steps
from tests.model.promises import Violation

ALL_KEPT = PairRules()


@dataclass(frozen=True)
class PairCase:
    """As `cases.Case`: `breaks` is the promise that the counterexample must break, empty where all must hold."""

    name: str
    scenario: PairScenario
    rules: PairRules = ALL_KEPT
    breaks: str = ""
    is_quick: bool = True

    def explore(self) -> Finding:
        return search(first_pair_state(self.scenario), lambda state: pair_steps(state, self.scenario, self.rules), judge_pair)

    def is_met_by(self, finding: Finding) -> bool:
        if not self.breaks:
            return finding.verdict == HOLDS
        return finding.violation is not None and finding.violation.promise == self.breaks


def judge_pair(step: PairStep) -> Violation | None:
    if step.got is not None:
        got, must_see = step.got
        if got[: len(must_see)] != must_see:
            return Violation("R", f"the read returned {got}, but {must_see} was shown or acknowledged before it began")
    events = step.state.row.events
    if len(set(events)) < len(events):
        return Violation("O", f"an event was applied twice: {events}")
    lost = step.state.acknowledged.difference(events)
    if lost and all(svr.has_claimed for svr in step.state.svrs):
        return Violation("L", f"{sorted(lost)} was acknowledged and is lost; the master has {events}")
    return None


TAKEOVER = PairScenario(events=("e1",), reads=1, ticking=2)
TWO_WRITES = PairScenario(reads=0, ticking=1)
GIVING = PairScenario(events=("e1",), reads=1, takeovers=0, gives=1, ticking=1)
AHEAD = PairScenario(events=("e1",), takeovers=0, ticking=1, replicas_run_ahead=True)
GIVEN_AND_BACK = PairScenario(reads=0, takeovers=0, gives=2, replicas=0, ticking=0)
PROMOTION = PairScenario(events=("e1",), reads=1, replicas=2, promotions=1, ticking=1)

HOLD = [
    PairCase("pair: a takeover", TAKEOVER),
    PairCase("pair: a takeover between two writes", TWO_WRITES),
    PairCase("pair: a segment is given", GIVING),
    PairCase("pair: replicas show what the master does not yet", AHEAD),
    PairCase("pair: a segment is given and given back, with a write at either time", GIVEN_AND_BACK),
    PairCase("pair: a takeover, with two reads", replace(TAKEOVER, reads=2), is_quick=False),
    PairCase("pair: a takeover between two writes, with a read", replace(TWO_WRITES, reads=1), is_quick=False),
    PairCase("pair: taken over and taken back", replace(TAKEOVER, takeovers=2, ticking=3), is_quick=False),
    PairCase("pair: a segment is given, with two reads", replace(GIVING, reads=2), is_quick=False),
    PairCase("pair: given and taken over", replace(GIVING, takeovers=1), is_quick=False),
    PairCase("pair: a takeover while replicas run ahead", replace(AHEAD, takeovers=1, reads=1), is_quick=False),
    PairCase("pair: a change of master", PROMOTION, is_quick=False),
    PairCase(
        "pair: a change of master that is no takeover, where the former one is gone for both",
        PROMOTION,
        PairRules(change_of_master_is_a_takeover=False),
        is_quick=False,
    ),
]

BROKEN = [
    PairCase(
        "INV 12 broken: who was known outlives a change of owner",
        GIVEN_AND_BACK,
        PairRules(known_ends_with_the_epoch=False),
        "L",
        is_quick=False,
    ),
    PairCase("INV 5 broken: the owner reads beside its own COMMIT", AHEAD, PairRules(no_reads_beside_a_commit=False), "R"),
    PairCase("INV 12 broken: writes are not fenced", TWO_WRITES, PairRules(fence_writes=False), "L"),
    PairCase("INV 12 broken: the fence is a plain SELECT", TWO_WRITES, PairRules(fence_by_a_lock=False), "L"),
    PairCase("INV 13 broken: no lease", TAKEOVER, PairRules(owner_has_a_lease=False), "R"),
    PairCase("INV 13 broken: the lease counts from the answer", TAKEOVER, PairRules(lease_counts_from_sending=False), "R"),
    PairCase("INV 13 broken: who takes over does not wait", TAKEOVER, PairRules(wait_out_the_lease=False), "R"),
    PairCase("INV 13 broken: the wait counts from the sending", TAKEOVER, PairRules(wait_counts_from_the_reply=False), "R"),
    PairCase("INV 13 broken: a takeover leaves the floor", TAKEOVER, PairRules(takeover_raises_the_floor=False), "R"),
    PairCase("INV 13 broken: who is not the owner reads without a lock", AHEAD, PairRules(others_read_by_a_lock=False), "R"),
    PairCase("INV 13 broken: who gives does not let go first", GIVING, PairRules(let_go_before_giving=False), "R"),
]

PAIR_CASES = [*HOLD, *BROKEN]

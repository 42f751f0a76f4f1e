"""What is explored: configurations in which the promises must hold, the same with one rule broken, and where the promises end.

A broken rule must give a counterexample, and the promise that it breaks is named. So a rule that turns out to be needless, or a
model too small to need it, fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.model.configuration import Rules, Scenario
from tests.model.explore import HOLDS, Finding

ALL_KEPT = Rules()


@dataclass(frozen=True)
class Case:
    """`breaks` is the promise that the counterexample must break: R, L or O; empty where all must hold, to the last state."""

    name: str
    scenario: Scenario
    rules: Rules = ALL_KEPT
    breaks: str = ""
    is_quick: bool = True
    """Explored in the unit layer; the others in `make test-long`."""

    def is_met_by(self, finding: Finding) -> bool:
        """Did the exploration end as it must? One that did not look at every state has not shown that anything holds."""
        if not self.breaks:
            return finding.verdict == HOLDS
        return finding.violation is not None and finding.violation.promise == self.breaks


ONE_WRITE = ("e1",)

WRITES = Scenario(replicas=2, reads=2)
WORKER = Scenario(replicas=2, events=ONE_WRITE, worker_ends=1)
GIVING_UP = Scenario(replicas=1, events=ONE_WRITE, worker_ends=1, timeouts=1)
REPEAT = Scenario(replicas=1, events=ONE_WRITE, timeouts=1, repeats=1)
FRONT = Scenario(replicas=1, events=ONE_WRITE, front_ends=1, repeats=1)
DROP = Scenario(replicas=2, drops=1)
SHARING = Scenario(replicas=2, events=ONE_WRITE, reads=3, may_share=True, answer_apart=True)
GROUPS = Scenario(replicas=2, reads=2, may_group=True)
SWAP = Scenario(replicas=1, replica_restores=1, receive_apart=True)
KNOWS = Scenario(replicas=2, events=ONE_WRITE, reads=3, replica_restores=1, knows=True)
KNOWN_FORK = Scenario(replicas=2, reads=2, promotions=1, replica_restores=1, knows=True)
PROMOTION = Scenario(replicas=2, events=ONE_WRITE, promotions=1)
RETURN = Scenario(replicas=1, events=ONE_WRITE, promotions=1, returns=1)
RESTORE = Scenario(replicas=2, events=ONE_WRITE, master_restores=1)
BLIND = replace(RESTORE, replicas=1, front_ends=1, stops_past_the_fork=True)

HOLD = [
    Case("two writes, two reads, two replicas of unequal lag", WRITES),
    Case("a worker is killed, or freezes and goes on", WORKER),
    Case("a client gives up, then the worker ends", GIVING_UP),
    Case("a client gives up and repeats its event", REPEAT),
    Case("the front is killed, its worker with it or later", FRONT),
    Case("a stamp is dropped", DROP),
    Case("reads share a query", SHARING),
    Case("reads travel in groups", GROUPS),
    Case("a replica is replaced between receive and query", SWAP),
    Case("a worker answers what it knows", KNOWS),
    Case("a worker knows what was lost with the master", KNOWN_FORK, is_quick=False),
    Case("a replica takes the lost master's place", PROMOTION, is_quick=False),
    Case("the former master comes back", RETURN),
    Case("the master is restored to an earlier state", RESTORE),
    Case("the master is restored, and the front restarts without memory", BLIND),
    Case("three reads, two writes", replace(WRITES, reads=3), is_quick=False),
    Case("a worker ends between two writes", replace(WORKER, events=("e1", "e2")), is_quick=False),
    Case("a worker ends, and its successor too", replace(WORKER, worker_ends=2), is_quick=False),
    Case("a worker ends while its client gives up and repeats", replace(GIVING_UP, replicas=2, repeats=1), is_quick=False),
    Case("the front is killed between two writes", replace(FRONT, events=("e1", "e2")), is_quick=False),
    Case("the front is killed, with two replicas", replace(FRONT, replicas=2), is_quick=False),
    Case("front and worker end", replace(FRONT, worker_ends=1), is_quick=False),
    Case("a stamp is dropped and a worker ends", Scenario(replicas=1, drops=1, worker_ends=1), is_quick=False),
    Case("reads share a query, and a worker ends", replace(SHARING, reads=2, worker_ends=1), is_quick=False),
    Case("reads travel in groups, and a worker ends", replace(GROUPS, events=ONE_WRITE, worker_ends=1), is_quick=False),
    Case("reads travel in groups, and a replica is replaced", replace(SWAP, may_group=True), is_quick=False),
    Case("reads travel in groups, and the master is restored", replace(RESTORE, may_group=True), is_quick=False),
    Case("one of two replicas is replaced between receive and query", replace(SWAP, replicas=2), is_quick=False),
    Case("a promotion between two writes", replace(PROMOTION, events=("e1", "e2")), is_quick=False),
    Case("a promotion while answers travel", replace(PROMOTION, answer_apart=True), is_quick=False),
    Case("a promotion while a client gives up and repeats", replace(PROMOTION, timeouts=1, repeats=1), is_quick=False),
    Case("a promotion and a worker's end", replace(PROMOTION, worker_ends=1), is_quick=False),
    Case("the former master comes back, with two replicas", replace(RETURN, replicas=2), is_quick=False),
    Case("two promotions", replace(PROMOTION, promotions=2), is_quick=False),
    Case("the master is restored between two writes", replace(RESTORE, events=("e1", "e2")), is_quick=False),
    Case("the master is restored while a client gives up and repeats", replace(RESTORE, timeouts=1, repeats=1), is_quick=False),
    Case(
        "assumption 3 dropped: replicas before the master, a worker ends",
        replace(GIVING_UP, replicas=2, master_first=False),
        is_quick=False,
    ),
    Case(
        "assumption 3 dropped: replicas before the master, the front is killed",
        replace(FRONT, replicas=2, master_first=False),
        is_quick=False,
    ),
    Case(
        "a promotion and a restart of the front, where replication stops past the fork",
        replace(PROMOTION, front_ends=1, stops_past_the_fork=True),
        is_quick=False,
    ),
]

BROKEN = [
    Case("durability broken: acknowledged before it is committed", WRITES, Rules(acknowledge_after_commit=False), "L"),
    Case("INV 1 broken: acknowledged before the stamp is set", WRITES, Rules(stamp_before_answer=False), "R"),
    Case("INV 2 broken: no in-flight mark", WRITES, Rules(mark_in_flight=False), "R"),
    Case("INV 2 broken: a read shares a query of a lower stamp", SHARING, Rules(share_only_at_or_above_own_stamp=False), "R"),
    Case("INV 2 broken: a read shares a query that has begun", SHARING, Rules(share_only_before_the_query=False), "R"),
    Case("INV 2 broken: a group goes at less than the largest stamp", GROUPS, Rules(group_at_the_largest_stamp=False), "R"),
    Case("INV 3 broken: the base is looked at, not committed", FRONT, Rules(commit_a_fresh_tick=False), "R"),
    Case("INV 3 broken: marks are gone when the worker is", WORKER, Rules(marks_stay_until_the_fresh_tick=False), "R"),
    Case("INV 3 broken: stamps of the undecided do not rise", GIVING_UP, Rules(raise_stamps_of_undecided=False), "R"),
    Case("INV 3 broken: no epoch, a frozen worker goes on", GIVING_UP, Rules(fence_by_epoch=False), "R"),
    Case("INV 3 broken: no epoch, the front was killed", FRONT, Rules(fence_by_epoch=False), "R"),
    Case("INV 3 broken: a block is committed although its bump found no row", GIVING_UP, Rules(fence_in_the_block=False), "R"),
    Case("INV 3 broken: what an older run queued is executed", FRONT, Rules(ignore_older_runs=False), "R"),
    Case("INV 4 broken: a dropped stamp leaves the floor", DROP, Rules(dropped_stamp_raises_floor=False), "R"),
    Case("INV 5 broken: the type alone is believed", SWAP, Rules(prove_by_snapshot=False), "R"),
    Case("event ids are not checked: a repeat", REPEAT, Rules(check_event_ids=False), "O"),
    Case("event ids are not checked: handed to the next life", WORKER, Rules(check_event_ids=False), "O"),
    Case("INV 5 broken: what is known is not held against the version", KNOWS, Rules(hold_known_against_version=False), "R"),
    Case("generations: what is known of an older one", KNOWN_FORK, Rules(forget_known_with_the_generation=False), "R", is_quick=False),
    Case("generations: a promotion goes on in the old one", PROMOTION, Rules(new_generation_at_promotion=False), "R", is_quick=False),
    Case("generations: a former master is taken back", RETURN, Rules(refuse_a_former_master=False), "L"),
    Case("generations: ticks that went back go on in the old one", RESTORE, Rules(new_generation_when_ticks_go_back=False), "R"),
    Case(
        "generations: an answer of an older one is taken", PROMOTION, Rules(take_only_answers_of_this_generation=False), "R", is_quick=False
    ),
    Case("generations: a front without memory does not hear the replicas first", BLIND, Rules(hear_the_replicas_first=False), "R"),
    Case(
        "generations: a look at a newer one hides the look before",
        PROMOTION,
        Rules(keep_the_look_before_a_newer_generation=False),
        "R",
        is_quick=False,
    ),
    Case("generations: a replica past the fork is not refused", PROMOTION, Rules(refuse_past_the_fork=False), "R", is_quick=False),
]

LIMITS = [
    Case("assumption 1 dropped: replicas apply out of order", replace(WRITES, in_commit_order=False), breaks="R"),
    Case("limit: a replica crosses the fork unseen", replace(PROMOTION, looked_at_the_fork=False), breaks="R", is_quick=False),
    Case(
        "limit: the front restarts after a promotion and forgets whom it refused",
        replace(PROMOTION, front_ends=1),
        breaks="R",
        is_quick=False,
    ),
    Case("limit: the former master comes back to a front that knows nothing", replace(RETURN, front_ends=1), breaks="L", is_quick=False),
    Case("limit: a restore that the front cannot know of", replace(RESTORE, replicas=1, restore_is_known=False), breaks="R"),
]

CASES = [*HOLD, *BROKEN, *LIMITS]

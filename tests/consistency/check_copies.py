"""One check of the cache layer: clients of the API under faults, then the judgement of what they saw and of what lies on the nodes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from apps.cachesync.copies import parse_head
from apps.cachesync.readmission import LONGEST_GAP_S
from tests.consistency.cache_faults import OUT_OF_REACH
from tests.consistency.check import PROGRESS_EVERY_S, Verdict
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.faults import Fault, Faults
from tests.consistency.history import FinalState, Violation, judge_copies, longest_waits, tally
from tests.consistency.through_api import ThroughApi
from tests.stack.api_stack import ApiStack
from tests.stack.waiting import eventually

REACHED_AGAIN_S = 12.0
"""After a fault a logic node leaves a cache node alone for a rest of its breaker, and three good tries."""


def check_copies(stack: ApiStack, load: Load, faults: tuple[Fault, ...], tell: Callable[[str], None] | None = None) -> Verdict:
    """Run the load under the faults, mend everything, let the purges come to their end, and judge."""
    began = time.monotonic()
    with Faults(stack, faults, load.seed) as injector:
        run = Run(stack, load, lambda number, record: ThroughApi(number, stack, load, record)).start()
        told_at = began
        while run.is_running:
            time.sleep(0.05)
            injector.stop_if_broken(run)
            if tell is not None and time.monotonic() - told_at >= PROGRESS_EVERY_S:
                told_at = time.monotonic()
                last = injector.injected[-1][1] if injector.injected else "none"
                tell(f"{told_at - began:6.0f} s  {len(run.history)} operations, {len(injector.injected)} faults, the last: {last}")
        history = run.wait()
    duration_s = time.monotonic() - began
    stack.wait_until_serving(60)
    eventually(lambda: _unfinished(stack) == 0, within_s=60)
    final = final_states(stack)
    # The grace, the look before it and the look after it.
    bound_s = stack.configuration().cache.purge_grace_ms / 1000 + 2 * LONGEST_GAP_S
    violations = judge_copies(history, final, _out_of_reach(injector), bound_s) + _old_copies(stack, final)
    counts = tally(history)
    counts["copy given by a node"] = sum(_hits(stack).values())
    names = Counter(name for _, name in injector.injected)
    return Verdict(violations, counts, names, longest_waits(history), 0.0, duration_s, injector.history())


def _out_of_reach(injector: Faults) -> list[tuple[float, float]]:
    names = {fault.__name__ for fault in OUT_OF_REACH}
    return [(fault.began, fault.ended + REACHED_AGAIN_S) for fault in injector.history() if fault.name in names]


def _unfinished(stack: ApiStack) -> int:
    return int(stack.master.execute("SELECT COUNT(*) FROM cache_purge", "tasksys_user")[0][0])


def _old_copies(stack: ApiStack, final: dict[int, FinalState]) -> list[Violation]:
    """Copies that lie on a node, older than the database, when no purge is left to be done."""
    violations = []
    for name, node in stack.nodes.items():
        with node.client() as client:
            for key in client.scan_iter("c:*"):
                found = parse_head(str(client.get(key) or "").encode())
                uid = int(str(key)[3:-1])
                if found is not None and uid in final and found[1] < final[uid].version:
                    violations.append(Violation(f"uid {uid}: {name} keeps version {found[1]}, and the master has {final[uid].version}"))
    return violations


def _hits(stack: ApiStack) -> dict[str, int]:
    """Since the node was started last."""
    found = {}
    for name, node in stack.nodes.items():
        with node.client() as client:
            found[name] = int(client.info("stats")["keyspace_hits"])
    return found

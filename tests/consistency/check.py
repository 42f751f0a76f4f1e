"""One check: clients under faults, then the judgement."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.faults import Fault, Faults, InjectedFault
from tests.consistency.history import READ, Violation, judge, long_waits, longest_waits, shortest, tally
from tests.stack.waiting import eventually

PROGRESS_EVERY_S = 5.0
REMEMBERED_S = 30.0


@dataclass(frozen=True)
class Verdict:
    violations: list[Violation]
    counts: Counter[str]
    faults: Counter[str]
    longest_s: dict[str, float]
    """The longest wait for an answer, of each kind of operation, whatever the faults."""
    longest_untroubled_s: float
    """The longest wait of a read that some server could have served all the time."""
    duration_s: float
    injected: list[InjectedFault] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"operations in {self.duration_s:.0f} s: " + ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items())),
            "faults: " + (", ".join(f"{name} {count}" for name, count in sorted(self.faults.items())) or "none"),
            "longest waits: " + ", ".join(f"{kind} {1000 * wait:.0f} ms" for kind, wait in sorted(self.longest_s.items())),
            f"longest wait of a read that some server could serve: {1000 * self.longest_untroubled_s:.0f} ms",
            f"violations: {len(self.violations)}",
        ]
        lines += [f"  {count} times: {promise}" for promise, count in Counter(each.promise for each in self.violations).most_common(10)]
        if (least := shortest(self.violations)) is not None:
            lines += ["the shortest:", str(least), *self._faults_before(least)]
        return "\n".join(lines)

    def _faults_before(self, violation: Violation) -> list[str]:
        """What went wrong in the last half minute before it, in milliseconds as the violation's own."""
        if not violation.operations:
            return []
        began, ended = min(each.began for each in violation.operations), max(each.ended for each in violation.operations)
        near = [fault for fault in self.injected if fault.ended > began - REMEMBERED_S and fault.began < ended]
        told = [f"  {1000 * (fault.began - began):9.1f} … {1000 * (fault.ended - began):9.1f}  {fault.name}" for fault in near]
        return ["faults before it:", *told] if told else ["no fault before it"]


def check(
    stack: PrivateStack,
    load: Load,
    faults: tuple[Fault, ...],
    wait_bound_s: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Verdict:
    """Run the load under the faults, mend everything, and judge what the clients saw against what the master holds.

    `wait_bound_s`: how long a read may wait that some server can serve; None judges no waits. `tell` hears how it goes.
    """
    began = time.monotonic()
    with Faults(stack, faults, load.seed) as injector:
        run = Run(stack, load).start()
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
    eventually(lambda: all(stack.stats(name)["users"]["in_flight"] == 0 for name in stack.dbsvrs), within_s=20)  # type: ignore[index,call-overload]
    violations = judge(history, final_states(stack))
    if wait_bound_s is not None:
        violations += long_waits(history, wait_bound_s, injector.troubled)
    untroubled = [each.operations[0].wait_s for each in long_waits((each for each in history if each.kind == READ), 0.0, injector.troubled)]
    names = Counter(name for _, name in injector.injected)
    longest = max(untroubled, default=0.0)
    return Verdict(violations, tally(history), names, longest_waits(history), longest, duration_s, injector.history())

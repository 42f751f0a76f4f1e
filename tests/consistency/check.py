"""One check: clients under faults, then the judgement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.faults import Fault, Faults
from tests.consistency.history import Violation, judge, tally


@dataclass(frozen=True)
class Verdict:
    violations: list[Violation]
    counts: Counter[str]
    faults: Counter[str]

    def __str__(self) -> str:
        lines = [
            "operations: " + ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items())),
            "faults: " + (", ".join(f"{name} {count}" for name, count in sorted(self.faults.items())) or "none"),
            f"violations: {len(self.violations)}",
        ]
        if self.violations:
            lines.append(str(min(self.violations, key=lambda violation: (len(violation.operations) == 0, len(violation.operations)))))
        return "\n".join(lines)


def check(stack: PrivateStack, load: Load, faults: tuple[Fault, ...]) -> Verdict:
    """Run the load under the faults, mend everything, and judge what the clients saw against what the master holds."""
    with Faults(stack, faults, load.seed) as injector:
        history = Run(stack, load).start().wait()
    stack.wait_until_serving()
    return Verdict(judge(history, final_states(stack)), tally(history), Counter(injector.injected))

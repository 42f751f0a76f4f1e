"""What must never happen, looked for at every copy that a reader is given, and at every one that is stored.

C: no copy older than an acknowledged write is served from a node that its writer could reach.
B: nor from any other, once the grace has passed.
M: no copy is overwritten by an older one.

What the databases lose with a generation is the first such write of the next one: nobody is asked to reach the nodes for it, and
no copy of an older generation is served past the grace.
"""

from __future__ import annotations

from tests.model.cache.state import Step, name_of
from tests.model.promises import Violation


def judge(step: Step) -> Violation | None:
    """The promise that this step breaks, or None."""
    if step.overwritten is not None and step.overwritten.after < step.overwritten.before:
        number, before, after = step.overwritten
        return Violation("M", f"{after} is stored over {before} on {name_of(number)}")
    if step.served is None:
        return None
    number, stamp = step.served
    node = step.state.nodes[number]
    if stamp < node.must:
        return Violation("C", f"{name_of(number)} serves {stamp}, and {node.must} was acknowledged by a writer who could reach it")
    if stamp < node.bound:
        return Violation("B", f"{name_of(number)} serves {stamp}, and the grace of {node.bound} has passed")
    return None

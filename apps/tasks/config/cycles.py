"""Circles in what needs what.

Pure. Every set of nodes that all wait for each other is named once, by its shortest circle through its first node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence


def find_cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles as paths that end where they begin: ["a", "b", "a"]. Nodes that `needs` does not name need nothing."""
    cycles = []
    for knot in _knots(needs):
        if len(knot) > 1 or knot[0] in needs[knot[0]]:
            cycles.append(_shortest_circle(min(knot), set(knot), needs))
    return sorted(cycles)


def _knots(needs: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Strongly connected components, by Tarjan's algorithm without recursion: chains may be thousands of tasks long."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    for root in needs:
        if root in number:
            continue
        path: list[tuple[str, Iterator[str]]] = []
        _enter(root, needs, number, lowest, open_nodes, is_open, path)
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in number:
                    if other in needs:
                        _enter(other, needs, number, lowest, open_nodes, is_open, path)
                        break
                elif other in is_open:
                    lowest[node] = min(lowest[node], number[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    knot: list[str] = []
                    while not knot or knot[-1] != node:
                        knot.append(open_nodes.pop())
                        is_open.discard(knot[-1])
                    yield knot


def _enter(
    node: str,
    needs: Mapping[str, Sequence[str]],
    number: dict[str, int],
    lowest: dict[str, int],
    open_nodes: list[str],
    is_open: set[str],
    path: list[tuple[str, Iterator[str]]],
) -> None:
    number[node] = lowest[node] = len(number)
    open_nodes.append(node)
    is_open.add(node)
    path.append((node, iter(needs[node])))


def _shortest_circle(start: str, knot: set[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for other in needs[node]:
            if other == start:
                circle = [start]
                while node != start:
                    circle.append(node)
                    node = came_from[node]
                return [start, *reversed(circle[1:]), start]
            if other in knot and other not in came_from:
                came_from[other] = node
                waiting.append(other)
    raise AssertionError(f"{start} stands in no circle")

"""Which logic node to send a user's request to: the same one as nginx would choose by deploy/nginx/, for clients without a proxy.

Pure, and of the standard library alone, so that a logic server can take this file as it is. It is nginx's `hash … consistent`: 160 points
a node, of CRC-32. Any logic node may serve any user; who sends a user's requests to one saves reads.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Iterable, Iterator

POINTS = 160


class LogicNodes:
    """`addresses`: "host:port", as they stand in tasksys-logic-nodes.conf. ValueError without any."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self.addresses = tuple(dict.fromkeys(addresses))
        if not self.addresses:
            raise ValueError("there must be at least one logic node")
        points: dict[int, str] = {}
        for address in self.addresses:
            for point in _points_of(address):
                # Two nodes on one point: the first keeps it.
                points.setdefault(point, address)
        self._points = sorted(points)
        self._at = points

    def in_turn(self, uid: int) -> Iterator[str]:
        """All logic nodes, the user's own first, then those to ask when it does not answer.

        Ask the next one only with what may be sent twice: a read, or a write with its event id.
        """
        place = bisect.bisect_left(self._points, zlib.crc32(str(uid).encode()))
        seen: set[str] = set()
        for point in self._points[place:] + self._points[:place]:
            address = self._at[point]
            if address not in seen:
                seen.add(address)
                yield address


def _points_of(address: str) -> Iterator[int]:
    host, _, port = address.rpartition(":") if address.rpartition(":")[2].isdigit() else (address, "", "")
    beginning = zlib.crc32(f"{host}\0{port}".encode())
    point = 0
    for _ in range(POINTS):
        point = zlib.crc32(point.to_bytes(4, "little"), beginning)
        yield point

"""Which cache node a user's copy belongs on.

Pure. The ring hashes the nodes' stable names, never their addresses: a changed port or password moves nobody, and a node that
comes or goes moves only its own share.
"""

from __future__ import annotations

from collections.abc import Iterable

from uhashring import HashRing


class Ring:
    def __init__(self, names: Iterable[str]) -> None:
        """At least one name. ValueError without."""
        self.names = tuple(sorted(set(names)))
        if not self.names:
            raise ValueError("a ring needs at least one node")
        self._ring = HashRing(nodes=list(self.names))

    def node_of(self, uid: int) -> str:
        return str(self._ring.get_node(str(uid)))

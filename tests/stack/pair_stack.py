"""Two DBSvrs as on two hosts: a gateway on the way to each other, and one on each one's way to the master."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.local.private_stack import PrivateStack, View
from tests.stack.gateway import Gateway


class PairStack(PrivateStack):
    """`links[name]`: the other's way to this one's front. `masters[name]`: this one's way to the master. Clients have their own ways."""

    def __init__(
        self, directory: Path, replicas: int = 1, settings: Mapping[str, object] | None = None, instances: Sequence[str] = ("a", "b")
    ) -> None:
        self.links: dict[str, Gateway] = {}
        self.masters: dict[str, Gateway] = {}
        super().__init__(directory, replicas=replicas, settings=settings, instances=instances, views=self._views_by_gateways)

    def _views_by_gateways(self, stack: PrivateStack) -> dict[str, View]:
        self.links = {name: Gateway(dbsvr.port) for name, dbsvr in self.dbsvrs.items()}
        self.masters = {name: Gateway(self.master.port) for name in self.dbsvrs}
        return {
            name: View(
                ports={other: link.port for other, link in self.links.items() if other != name},
                endpoints={"master": [self.masters[name].endpoint]},
            )
            for name in self.dbsvrs
        }

    def stop(self) -> None:
        super().stop()
        for gateway in (*self.links.values(), *self.masters.values()):
            gateway.close()

"""Which cache nodes there are: operators add, drain and remove them, and every process looks here once a second.

A change of state is one conditional UPDATE. Moments are the database's own clock, because what must not happen too early is measured
by them: who has not looked for UNSEEN_AFTER_S uses no node at all, so after SETTLED_AFTER_S everybody knows of a change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db import connection, transaction

from apps.cachesync.models import DRAINING, IN_USE, JOINING, REMOVED, CacheNode
from tasksys_site import configuration

UNSEEN_AFTER_S = 3.0
"""A process uses no node that it could not look at for so long (INV 11)."""
SETTLED_AFTER_S = 10.0
PROBE_LASTS_S = 5.0
"""What the center has found counts for so long; without a center each process knows only what it meets itself."""


class NodeRow(NamedTuple):
    name: str
    url: str
    state: str
    is_silent: bool
    """The center says so, lately."""
    admitted_run: str = ""


class NotNow(Exception):
    """The node is not in the state that this change needs, or has not been in it for long enough."""


def nodes() -> list[NodeRow]:
    """All but the removed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.name, n.url, n.state, p.answers IS NOT NULL AND NOT p.answers AND p.probed_at > UNIX_TIMESTAMP() - %s,"
            " n.admitted_run"
            " FROM cache_node n LEFT JOIN cache_node_now p ON p.name = n.name WHERE n.state <> %s ORDER BY n.name",
            [PROBE_LASTS_S, REMOVED],
        )
        return [NodeRow(name, url, state, bool(is_silent), run) for name, url, state, is_silent, run in cursor.fetchall()]


def add(name: str, url: str) -> None:
    """A new node, or a removed one again. It is used when the center has emptied it. NotNow when there is one of that name or address."""
    with transaction.atomic():
        if CacheNode.objects.select_for_update().filter(url=url).exclude(name=name, state=REMOVED).exclude(state=REMOVED).exists():
            raise NotNow(f"another node has the address {masked(url)}")
        now = _now()
        if CacheNode.objects.filter(name=name, state=REMOVED).update(url=url, state=JOINING, changed_at=now, admitted_run=""):
            return
        _node, is_new = CacheNode.objects.get_or_create(name=name, defaults={"url": url, "state": JOINING, "changed_at": now})
        if not is_new:
            raise NotNow(f"there is a node {name} already")


def drain(name: str) -> None:
    """Nobody uses it any more, as soon as everybody has looked; it is still purged."""
    if not CacheNode.objects.filter(name=name, state__in=(JOINING, IN_USE)).update(state=DRAINING, changed_at=_now()):
        raise NotNow(f"{name} is not in use")


def use_again(name: str) -> None:
    """A drained node joins again, emptied first."""
    if not CacheNode.objects.filter(name=name, state=DRAINING).update(state=JOINING, changed_at=_now()):
        raise NotNow(f"{name} is not draining")


def remove(name: str) -> None:
    """Purges for it end. NotNow while somebody may still use it."""
    long_enough = _now() - SETTLED_AFTER_S
    if not CacheNode.objects.filter(name=name, state=DRAINING, changed_at__lt=long_enough).update(state=REMOVED, changed_at=_now()):
        raise NotNow(f"{name} has not been drained for {SETTLED_AFTER_S:g} s")


def joining() -> list[NodeRow]:
    """Nodes that everybody has heard of by now, and that nobody uses yet."""
    known_by_all = CacheNode.objects.filter(state=JOINING, changed_at__lt=_now() - UNSEEN_AFTER_S - 1)
    return [NodeRow(row.name, row.url, row.state, False) for row in known_by_all]


def joined(name: str, url: str, run: str) -> None:
    """It was emptied at this address: from now on it is used."""
    CacheNode.objects.filter(name=name, url=url, state=JOINING).update(state=IN_USE, changed_at=_now(), admitted_run=run)


def admit(name: str, url: str, run: str) -> None:
    """This run of its server was emptied."""
    CacheNode.objects.filter(name=name, url=url).update(admitted_run=run)


def admit_first(name: str, url: str, run: str) -> None:
    """The first run that was ever met of a node in use: nothing can lie there."""
    CacheNode.objects.filter(name=name, url=url, state=IN_USE, admitted_run="").update(admitted_run=run)


def take_over(configured: Iterable[configuration.CacheNode]) -> None:
    """What the configuration names: all of it into an empty registry; later new names join, and changed addresses are taken over.

    A node that operators have removed stays so.
    """
    with transaction.atomic():
        known = {node.name: node for node in CacheNode.objects.select_for_update()}
        now = _now()
        for node in configured:
            if node.name not in known:
                # Nothing can lie on the nodes of a system that has never run.
                CacheNode.objects.create(name=node.name, url=node.url, state=JOINING if known else IN_USE, changed_at=now)
            elif known[node.name].url != node.url and known[node.name].state != REMOVED:
                # Another server, of which nobody knows what lies on it. Who drains it goes on doing so.
                state = DRAINING if known[node.name].state == DRAINING else JOINING
                CacheNode.objects.filter(name=node.name).update(url=node.url, state=state, changed_at=now, admitted_run="")


def masked(url: str) -> str:
    """The address without its password."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _now() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT UNIX_TIMESTAMP()")
        return float(cursor.fetchone()[0])

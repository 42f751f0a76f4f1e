"""One request in a few seconds tries a database that was away; nobody else waits for it."""

from __future__ import annotations

from apps.dbsvr.console.outage import TRY_EVERY_S, Outage


def test_all_may_try_while_all_is_well_and_one_at_a_time_while_it_is_not() -> None:
    now = [100.0]
    outage = Outage(lambda: now[0])
    assert not outage.is_so()
    assert all(outage.may_try() for _each in range(3))

    outage.began()
    assert outage.is_so()
    assert not outage.may_try()

    now[0] += TRY_EVERY_S
    assert outage.may_try()
    assert not outage.may_try()

    outage.ended()
    assert not outage.is_so()
    assert outage.may_try()

"""The demo users are there for both DBSvrs, and nobody is there twice."""

from __future__ import annotations

import collections

from deploy.local.demo_users import DEMO_USERS, uid_of
from tasksys_site.configuration import DBSvr


def test_each_of_two_dbsvrs_owns_half_of_the_demo_users() -> None:
    uids = [uid_of(number) for number in range(DEMO_USERS)]

    homes = collections.Counter(DBSvr().home_of(uid) for uid in uids)

    assert homes == {"a": DEMO_USERS / 2, "b": DEMO_USERS / 2}
    assert len(set(uids)) == DEMO_USERS
    assert {10**12 + 42, 10**9 + 42} < set(uids), "those that the documents and the console name"

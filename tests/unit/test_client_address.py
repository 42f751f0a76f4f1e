"""From which address a login came: a proxy of ours is believed, nobody else."""

from __future__ import annotations

import pytest

from tasksys_site.client_address import find_client

PROXIES = ("10.0.0.0/24", "fd00::1")


@pytest.mark.parametrize(
    ("asked_by", "forwarded_for", "client"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("10.0.0.5", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "203.0.113.9, 10.0.0.6", "203.0.113.9"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.0.0.5", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "", "10.0.0.5"),
        ("10.0.0.5", "10.0.0.7", "10.0.0.7"),
    ],
)
def test_the_client_is_the_last_one_who_is_no_proxy_of_ours(asked_by: str, forwarded_for: str, client: str) -> None:
    assert find_client(asked_by, forwarded_for, PROXIES) == client


@pytest.mark.parametrize("invented", ["127.0.0.1", "10.0.0.5, 10.0.0.6", "nonsense", "1.2.3.4, 5.6.7.8"])
def test_who_comes_past_the_proxy_cannot_invent_an_address(invented: str) -> None:
    assert find_client("203.0.113.9", invented, PROXIES) == "203.0.113.9"


@pytest.mark.parametrize("invented", ["127.0.0.1", "unknown", "<script>", "1.2.3.4"])
def test_what_a_client_writes_before_the_proxys_own_entry_changes_nothing(invented: str) -> None:
    assert find_client("10.0.0.5", f"{invented}, 203.0.113.9", PROXIES) == "203.0.113.9"


def test_an_entry_that_is_no_address_leaves_the_proxys_address() -> None:
    assert find_client("10.0.0.5", "203.0.113.9, unknown", PROXIES) == "10.0.0.5"


def test_a_server_on_a_local_socket_knows_no_address() -> None:
    assert find_client("", "203.0.113.9", PROXIES) == ""

"""A taken port is found, however the other program has bound it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from deploy.local.ports import free_ports, is_free


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"])
def listener(request: pytest.FixtureRequest, port: int) -> Iterator[socket.socket]:
    with socket.socket() as taken:
        taken.bind((request.param, port))
        taken.listen()
        yield taken


def test_a_port_nobody_listens_on_is_free(port: int) -> None:
    assert is_free(port)


@pytest.mark.usefixtures("listener")
def test_a_port_somebody_listens_on_is_not_free(port: int) -> None:
    assert not is_free(port)


def test_a_port_whose_last_connection_has_just_ended_is_free(port: int) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as every server does
        server.bind(("127.0.0.1", port))
        server.listen()
        with socket.create_connection(("127.0.0.1", port)):
            served, _address = server.accept()
            served.close()

    assert is_free(port)


def test_free_ports_are_different_from_each_other() -> None:
    assert len(set(free_ports(20))) == 20


def test_a_port_that_another_process_has_picked_is_not_picked_again() -> None:
    picked = free_ports(50)
    attempt = "import sys; from deploy.local.ports import _claim; print(sum(map(_claim, map(int, sys.argv[1:]))))"

    claimed = subprocess.run([sys.executable, "-c", attempt, *map(str, picked)], capture_output=True, text=True, check=True)

    assert claimed.stdout.strip() == "0"

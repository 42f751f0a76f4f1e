"""What the configuration makes of a file and the environment, where the two DBSvrs are concerned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasksys_site.configuration import MAX_UID, SECOND_HALF, ConfigurationError, DBSvr, load

ONLY_A = """
[dbsvr.instances.a]
port = 7401
queue_key = 5
"""
A_AND_B = ONLY_A + "[dbsvr.instances.b]\nhost = '{host}'\nport = {port}\nqueue_key = {queue_key}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tasksys.toml"
    path.touch()
    monkeypatch.setenv("TASKSYS_CONFIG", str(path))
    return path


def test_without_a_file_two_dbsvrs_share_the_users(file: Path) -> None:
    dbsvr = load().dbsvr

    assert list(dbsvr.instances) == ["a", "b"]
    assert [(it.first, it.last, it.home) for it in dbsvr.segment_list] == [(1, SECOND_HALF - 1, "a"), (SECOND_HALF, MAX_UID, "b")]


def test_a_file_that_names_one_dbsvr_names_them_all(file: Path) -> None:
    file.write_text(ONLY_A)

    dbsvr = load().dbsvr

    assert list(dbsvr.instances) == ["a"]
    assert [(it.first, it.last, it.home) for it in dbsvr.segment_list] == [(1, MAX_UID, "a")]


def test_the_environment_changes_one_thing_of_one_dbsvr(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKSYS_DBSVR__INSTANCES__B__PORT", "7999")
    defaults = DBSvr().instances

    assert load().dbsvr.instances == {"a": defaults["a"], "b": defaults["b"].model_copy(update={"port": 7999})}

    file.write_text(ONLY_A)
    monkeypatch.delenv("TASKSYS_DBSVR__INSTANCES__B__PORT")
    monkeypatch.setenv("TASKSYS_DBSVR__INSTANCES__A__PORT", "7998")

    assert {name: (it.port, it.queue_key) for name, it in load().dbsvr.instances.items()} == {"a": (7998, 5)}


def test_other_settings_of_the_section_keep_the_default_dbsvrs(file: Path) -> None:
    file.write_text("[dbsvr]\nbeat_ms = 50\n")

    dbsvr = load().dbsvr

    assert (dbsvr.beat_ms, list(dbsvr.instances)) == (50, ["a", "b"])


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 7401), ("0.0.0.0", 7401), ("127.0.0.1", 7380)])
def test_two_that_would_take_one_port_of_a_host_are_a_fault(file: Path, host: str, port: int) -> None:
    file.write_text(A_AND_B.format(host=host, port=port, queue_key=50))

    with pytest.raises(ConfigurationError, match="must differ on one host"):
        load()


def test_queues_that_two_would_share_are_a_fault(file: Path) -> None:
    file.write_text(A_AND_B.format(host="127.0.0.1", port=7402, queue_key=7))

    with pytest.raises(ConfigurationError, match="queue keys of a and b overlap"):
        load()


def test_on_two_hosts_the_same_port_and_queue_key_are_none(file: Path) -> None:
    file.write_text(A_AND_B.format(host="10.0.0.2", port=7401, queue_key=5))

    assert load().instance("b").port == 7401


@pytest.mark.parametrize(
    ("segments", "words"),
    [
        ([(1, 10, "a"), (12, MAX_UID, "b")], "must begin at uid 11"),
        ([(1, 10, "a"), (10, MAX_UID, "b")], "must begin at uid 11"),
        ([(1, 10, "a"), (11, 100, "b")], "nobody owns the uids from 101 on"),
        ([(1, MAX_UID, "c")], "is no instance"),
    ],
)
def test_segments_cover_every_user_once(file: Path, segments: list[tuple[int, int, str]], words: str) -> None:
    file.write_text(
        "\n".join(
            f'[[dbsvr.segments]]\nname = "s{number}"\nfirst = {first}\nlast = {last}\nhome = "{home}"'
            for number, (first, last, home) in enumerate(segments)
        )
    )

    with pytest.raises(ConfigurationError, match=words):
        load()

"""supervisord's file survives every folder name, and says which exit codes are final."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from deploy.local.pieces import LocalStack, NotLocal, from_project
from deploy.local.supervision import supervisord_configuration
from tasksys_site.configuration import Broker, Configuration, Databases, load
from workers.process import Exit


@pytest.fixture
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Configuration:
    """The defaults, whatever this session's own configuration says."""
    empty = tmp_path / "empty.toml"
    empty.touch()
    monkeypatch.setenv("TASKSYS_CONFIG", str(empty))
    return load()


def read_by_supervisord(stack: LocalStack) -> ServerOptions:
    stack.var.mkdir(parents=True)
    file = stack.var / "supervisord.conf"
    file.write_text(supervisord_configuration(stack, stack.var / "supervisor.sock"), encoding="utf-8")
    (stack.var / "log").mkdir()
    options = ServerOptions()
    options.realize(["-c", str(file)])
    return options


@pytest.mark.parametrize("folder", ["plain", "with a space", "one #2", "a ;b", "it's", "Überraschung"])
def test_every_command_survives_supervisords_parser(configuration: Configuration, tmp_path: Path, folder: str) -> None:
    stack = LocalStack(configuration.model_copy(update={"var_dir": tmp_path / folder / "var"}))

    options = read_by_supervisord(stack)

    read = {program.name: program for group in options.process_group_configs for program in group.process_configs}
    assert read.keys() == {program.name for program in stack.programs}
    for program in stack.programs:
        expected = [from_project(program.command[0]), *program.command[1:]]
        assert shlex.split(read[program.name].command)[-len(expected) :] == expected


def test_a_program_that_says_do_not_start_me_again_is_left_alone(configuration: Configuration, tmp_path: Path) -> None:
    options = read_by_supervisord(LocalStack(configuration.model_copy(update={"var_dir": tmp_path / "var"})))

    for group in options.process_group_configs:
        for program in group.process_configs:
            assert set(program.exitcodes) == {Exit.STOPPED, Exit.SUPERSEDED, Exit.WRONG_CONFIGURATION}
            assert Exit.START_AGAIN not in program.exitcodes


def test_a_server_on_another_machine_is_refused_with_its_setting(configuration: Configuration) -> None:
    elsewhere = configuration.model_copy(update={"databases": Databases(master=("db.example.org:3306",))})
    with pytest.raises(NotLocal, match=r"databases\.master names db\.example\.org:3306"):
        LocalStack(elsewhere)

    with pytest.raises(NotLocal, match=r"broker\.url"):
        LocalStack(configuration.model_copy(update={"broker": Broker(url="redis://db.example.org:6379/0")}))


def test_every_port_has_a_setting_to_change(configuration: Configuration) -> None:
    stack = LocalStack(configuration)

    assert {listener.port for listener in stack.listeners} == {7301, 7302, 7311, 7312, 7306, 7307, 7380, 7400, 7401, 7402, 7501, 7502}
    assert all(listener.setting and listener.variable.startswith("TASKSYS_") for listener in stack.listeners)

"""The newcomer's first command, with nothing there: no .venv, no var/, no caches."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.server_process import wait_until
from tests.setup.test_local_stack import Copy, copy_of_the_project

READY_WITHIN_S = 600

pytestmark = pytest.mark.long


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(copy_of_the_project(tmp_path / "fresh clone"))
    yield made
    made.make("down")


def test_make_run_makes_its_own_environment_and_gets_ready(clone: Copy, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as out:
        run = subprocess.Popen(["make", "run"], cwd=clone.folder, env=clone.environment(), stdout=out, stderr=out, start_new_session=True)

    assert wait_until(lambda: "Tasksys is ready" in log.read_text() or run.poll() is not None, READY_WITHIN_S, every_s=0.5)
    said = log.read_text()
    assert "Tasksys is ready" in said, said
    assert (clone.folder / "var" / "secrets" / "operator").read_text().strip() in said
    run.terminate()
    run.wait(60)
    assert wait_until(lambda: not clone.processes(), 20)

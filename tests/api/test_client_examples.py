"""The examples of docs/clients.md do what they say, in each language whose tools are on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apps.tasks.config.documents import EventType, Feed, Period
from tasksys_client import TasksysClient
from tasksys_site.configuration import PROJECT
from tests.stack import published
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

UID = 1_000_000_000_042
RUN = {
    "python": ("example.py", ["{python}", "example.py"]),
    "sh": ("example.sh", ["sh", "-e", "example.sh"]),
    "java": ("Tasksys.java", ["java", "Tasksys.java"]),
    "go": ("main.go", ["go", "run", "main.go"]),
    "php": ("example.php", ["php", "example.php"]),
}


def example_in(language: str) -> str:
    text = (PROJECT / "docs" / "clients.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


@pytest.mark.parametrize("language", RUN)
def test_an_example_tells_an_event_and_hears_what_it_did(
    language: str, web: WebProcess, keys: dict[str, str], make_task: Callable[..., Any], tmp_path: Path
) -> None:
    file, command = RUN[language]
    if shutil.which(command[0]) is None and command[0] != "{python}":
        pytest.skip(f"{command[0]} is not on this machine")
    if not _is_known("login"):
        published.publish_tasks(EventType(name="login"))
    code = make_task(period=Period(kind="daily"), target=10_000, feeds=(Feed(event="login"),)).code
    with TasksysClient(web.address, keys["all"]) as tasksys:
        eventually(lambda: code in {task.code for task in tasksys.explain(7).tasks})

        (tmp_path / file).write_text(example_in(language), encoding="utf-8")
        environment = {**os.environ, "TASKSYS": web.address, "TASKSYS_KEY": keys["all"], "PYTHONPATH": str(PROJECT)}
        words = [word.format(python=sys.executable) for word in command]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

        assert done.returncode == 0, done.stderr
        assert code in done.stdout or language == "python", done.stdout + done.stderr
        progress = {task.code: task.progress for task in tasksys.tasks(UID).tasks}
        assert progress[code] == 1, done.stdout + done.stderr


def _is_known(event: str) -> bool:
    from apps.tasks.live_bundle import live

    return event in live().bundle.document.events

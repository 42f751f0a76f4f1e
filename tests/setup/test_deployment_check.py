"""`manage.py check --deploy`: an installation that is served by https has nothing to be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from deploy.local.secret_files import ensure_secret
from tasksys_site.configuration import PROJECT


def check(directory: Path, *settings: str) -> str:
    for name in ("django", "web"):
        ensure_secret(directory / name)
    file = directory / "tasksys.toml"
    web = "\n".join(["[web]", f'secret_key_file = "{directory / "django"}"', *settings])
    file.write_text(f'{web}\n[databases.accounts.web]\nuser = "tasksys_web"\npassword_file = "{directory / "web"}"\n')
    command = [sys.executable, "manage.py", "check", "--deploy", "--tag", "security"]
    environment = {**os.environ, "TASKSYS_CONFIG": str(file)}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def test_an_installation_with_https_and_hsts_has_nothing_to_be_told(tmp_path: Path) -> None:
    assert "no issues" in check(tmp_path, "https = true", "hsts_days = 30")


def test_one_without_is_told_about_its_cookies(tmp_path: Path) -> None:
    assert "SESSION_COOKIE_SECURE" in check(tmp_path)


def test_hsts_without_https_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    assert "hsts_days: needs https = true" in check(tmp_path, "hsts_days = 30")

"""`python -m workers check`, as an operator runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import PROJECT


def checked(stack: PrivateStack, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workers", "check"]
    around = {**os.environ, **stack.environment, **(environment or {})}
    return subprocess.run(command, cwd=PROJECT, env=around, capture_output=True, text=True, check=False)

"""What an operator says on the command line: `python -m workers …` against a private stack."""

from __future__ import annotations

import os
import subprocess
import sys

from deploy.local.private_stack import PrivateStack


def operate(stack: PrivateStack, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **stack.environment}
    return subprocess.run([sys.executable, "-m", "workers", *words], env=environment, capture_output=True, text=True, check=False)

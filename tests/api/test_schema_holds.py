"""Generated requests over the whole schema, against the real stack over HTTP: no answer that the schema does not declare, and no 5xx.

schemathesis makes them: valid ones, ones at the bounds of what is valid, and wrong ones. Each failure comes with the curl that repeats it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "missing_required_header",
)


@pytest.fixture
def key(stack: PrivateStack, web: WebProcess, tmp_path: Path) -> str:
    """With all scopes, on a stack with the demo's tasks, so that generated requests meet something."""
    from tests.api.test_api_keys import status_over_http

    file = tmp_path / "key"
    stack.manage("load_demo", "--key-file", str(file), "--verbosity=0")
    text = file.read_text().strip()
    eventually(lambda: status_over_http(web, text) == 200)
    return text


def run(web: WebProcess, key: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert program is not None, "deploy/setup.sh test installs schemathesis"
    command = [program, "run", f"{web.address}/api/schema/?format=json", "--header", f"Authorization: Api-Key {key}"]
    command += ["--checks", ",".join(CHECKS), "--no-color", "--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off"]
    return subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, timeout=900, check=False)


def test_a_few_generated_requests_meet_only_declared_answers(web: WebProcess, key: str, tmp_path: Path) -> None:
    done = run(web, key, tmp_path, "--phases", "fuzzing", "--max-examples", "2", "--seed", "1")

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.long
def test_the_whole_schema_is_true(web: WebProcess, key: str, tmp_path: Path) -> None:
    done = run(web, key, tmp_path, "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "40")

    assert done.returncode == 0, done.stdout[-9000:] + done.stderr[-2000:]

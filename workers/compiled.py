"""The hot modules, compiled by mypyc: the same source, a fifth less processor time.

`python -m workers.compiled` compiles them, into a folder that bears the digest of all sources: a changed line, another Python or another
compiler, and the processes run from source again until the set-up has compiled anew. Only the DBSvr's own processes use them, and they say
in `TASK.STATS` whether they do. With `WORKERS_FROM_SOURCE=1` in its environment a process keeps to the sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

import workers

MODULES = (
    "changes", "clients", "commands", "database", "dispatch", "front_counts", "histogram", "known_users", "lanes",
    "quotas", "replies", "requests", "routing", "servers", "snapshots", "steps", "store", "stored_results",
    "trail_book", "trails", "user_info", "users", "worker_links", "write_transaction",
)  # fmt: skip
"""Those through which every request goes. Not `messages`: msgspec makes its classes. Not the workers' loops and `write_batches`, which cost
a batch and not a request: Python runs a signal's handler between two steps of interpreted code alone, and mypyc gives a name in a generator
one type, also where two `except` clauses give it two (`tests/unit/test_compiled.py` looks for that)."""
SWITCH = "WORKERS_FROM_SOURCE"
PROJECT = Path(__file__).parent.parent
SHELF = Path(sys.prefix) / "compiled"
"""In the virtual environment, as everything is that was installed for one Python: a folder for each digest."""
LOG = SHELF / "build.log"
KEPT = 3
"""Folders of earlier sources, for who goes back to them."""


def use() -> None:
    """Let the modules that are imported from now on be the compiled ones, where there are any."""
    folder = _folder() / "workers"
    if folder.is_dir() and not os.environ.get(SWITCH):
        workers.__path__.insert(0, str(folder))


def are_used() -> bool:
    return workers.__path__[0].startswith(str(SHELF))


def build() -> None:
    """Compile, which takes about a minute on two slow cores. Raises OSError or CalledProcessError; what the compilers said is in LOG."""
    folder = _folder()
    SHELF.mkdir(exist_ok=True)
    # A new folder and a process of their own each time: setuptools takes over the process that it runs in, and of an earlier build mypyc
    # takes more as given than it may.
    with tempfile.TemporaryDirectory(prefix="work-", dir=SHELF) as work, LOG.open("w") as log:
        command = [sys.executable, "-m", "workers.compiled", "into", work]
        subprocess.run(command, cwd=PROJECT, stdout=log, stderr=subprocess.STDOUT, check=True)
        (Path(work) / "lib").rename(folder)
    earlier = sorted((each for each in SHELF.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    for each in earlier[: -KEPT - 1]:
        shutil.rmtree(each, ignore_errors=True)


def _folder() -> Path:
    """For these sources, this Python and this compiler."""
    digest = hashlib.sha256(f"{sysconfig.get_platform()} {sys.version} mypy {version('mypy')}".encode())
    for source in (*sorted((PROJECT / "workers").glob("*.py")), PROJECT / "tasksys_site" / "configuration.py"):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return SHELF / digest.hexdigest()[:16]


def _compile(work: str) -> None:
    from mypyc.build import mypycify
    from setuptools import setup

    # Each module by itself, so that both cores compile. No debugging information, and the first level of optimisation: the second takes
    # twice as long and gains nothing that can be measured.
    options = ["--cache-dir", f"{work}/mypy", *(f"workers/{name}.py" for name in MODULES)]
    setup(
        name="tasksys-compiled",
        packages=[],
        ext_modules=mypycify(options, separate=True, opt_level="1", debug_level="0", target_dir=f"{work}/c"),
        script_args=[
            "build_ext",
            *("--build-temp", f"{work}/objects"),
            *("--build-lib", f"{work}/lib"),
            *("--parallel", str(os.cpu_count() or 1)),
        ],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["into"]:
        _compile(sys.argv[2])
    elif not _folder().is_dir():
        print("Compiling the DBSvr's hot modules …", flush=True)
        try:
            build()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Not done, so the DBSvr runs from source, a fifth slower ({error}); see {LOG}", file=sys.stderr)

"""A disk of its own, and a small one, under a database: a tmpfs mount, which takes root's rights."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from deploy.local.mariadb import MariaDBServer

CHUNK = b"x" * 65_536


class SmallDisk:
    def __init__(self, server: MariaDBServer) -> None:
        self._filler = server.data / "filler"

    def fill(self) -> None:
        """Until not one byte more finds room."""
        with contextlib.suppress(OSError), open(self._filler, "wb", buffering=0) as filler:
            while True:
                filler.write(CHUNK)

    def make_room(self) -> None:
        self._filler.unlink()


@contextlib.contextmanager
def on_small_disk(server: MariaDBServer) -> Iterator[SmallDisk]:
    """The server is stopped, moved, and started again; in the end it is stopped. Skips where this process may not mount."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root's rights")
    server.stop()
    aside = server.data.with_name("data.aside")
    server.data.rename(aside)
    server.data.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(server.data)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"may not mount: {mounted.stderr.strip()}")
    try:
        shutil.copytree(aside, server.data, dirs_exist_ok=True)
        server.start()
        yield SmallDisk(server)
    finally:
        server.stop()
        subprocess.run(["umount", str(server.data)], check=True)

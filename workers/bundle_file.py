"""The last good task configuration, in a file: a front that starts while the master is away hands it down all the same.

What comes from the database is checked before it takes the place of the one before, in a thread, so that no request waits for it. A
file that cannot be written harms nobody; one that cannot be read is as none.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from tasksys_site.configuration import Configuration, in_project
from workers.protocol import BadBody, PublishedBundle, unpack_bundle


def bundle_path(configuration: Configuration, instance: str) -> Path:
    return in_project(configuration.var_dir) / "state" / f"config-{instance}"


class BundleFile:
    def __init__(self, path: Path, log: logging.Logger) -> None:
        self._path = path
        self._log = log

    def load(self) -> PublishedBundle | None:
        try:
            bundle = msgspec.msgpack.decode(self._path.read_bytes(), type=PublishedBundle)
            unpack_bundle(bundle)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, BadBody) as error:
            self._log.error('the kept task configuration cannot be read file=%s why="%s"', self._path, error)
            return None
        return bundle

    def check(self, bundle: PublishedBundle, say: Callable[[str], None]) -> None:
        done = asyncio.get_running_loop().run_in_executor(None, self._check_and_keep, bundle)
        done.add_done_callback(lambda future: None if future.cancelled() else say(future.result()))

    def _check_and_keep(self, bundle: PublishedBundle) -> str:
        try:
            unpack_bundle(bundle)
        except BadBody as error:
            return str(error)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            making = self._path.with_name(self._path.name + ".new")
            making.write_bytes(msgspec.msgpack.encode(bundle))
            os.replace(making, self._path)
        except OSError as error:
            self._log.error('cannot keep the task configuration file=%s why="%s"', self._path, error)
        return ""

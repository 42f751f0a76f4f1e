"""What a DBSvr remembers beyond the life of its front: how far the master had come, so that one that has gone back is noticed.

A file of JSON, written about once a second and when the front ends. Nothing is promised by its being there: without it a
master that went back while the front was down is taken as it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tasksys_site.configuration import Configuration, in_project
from workers.timelines import Known


class Watermark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`forks`: generation -> fork tick. `past_fork`: the replicas that must be rebuilt, and why. `possessed`: see `ownership`."""

    known: Known = Known()
    forks: dict[int, int] = {}
    past_fork: dict[str, str] = {}
    possessed: dict[str, int] = {}


def watermark_path(configuration: Configuration, instance: str) -> Path:
    return in_project(configuration.var_dir) / "state" / f"dbsvr-{instance}.json"


def load_watermark(path: Path) -> tuple[Watermark, str]:
    """The watermark, and what was wrong with the file; an empty one where there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Watermark), ""
    except FileNotFoundError:
        return Watermark(), ""
    except (OSError, msgspec.MsgspecError) as error:
        return Watermark(), f"{path} cannot be read: {error}"


def save_watermark(path: Path, watermark: Watermark) -> None:
    """Replaces the file as a whole. Raises OSError."""
    making = f"{path.with_suffix('.new')}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        file = os.open(making, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(making, flags, 0o644)
    try:
        os.write(file, msgspec.json.encode(watermark))
    finally:
        os.close(file)
    os.replace(making, path)

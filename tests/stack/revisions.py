"""Published task configurations for tests of the wire: rows of `config_revision` as publishing leaves them."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import datetime, timezone

from apps.tasks.config.compile import compile_bundle, etag_of
from apps.tasks.config.documents import Configuration
from deploy.local.private_stack import PrivateStack
from workers.protocol import PublishedBundle

TABLE = """CREATE TABLE IF NOT EXISTS config_revision (
    number INT NOT NULL PRIMARY KEY, etag VARCHAR(64) NOT NULL, bundle LONGBLOB NOT NULL, bundle_bytes INT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"""
"""What the DBSvr reads of the table; the migration makes it with more columns."""


def revision(number: int, text: bytes | None = None) -> PublishedBundle:
    """A whole one. Its text is any JSON: the wire does not look into it."""
    text = json.dumps({"schema": 1, "revision": number}).encode() if text is None else text
    return PublishedBundle(number, f"{number}-{hashlib.sha256(text).hexdigest()[:16]}", gzip.compress(text, 6, mtime=0))


def damaged(number: int) -> PublishedBundle:
    whole = revision(number)
    return whole._replace(body=whole.body[:-9] + b"\0" * 9)


def create_table(stack: PrivateStack) -> None:
    stack.master.execute(TABLE, "tasksys")


def publish(stack: PrivateStack, bundle: PublishedBundle) -> None:
    """Commit it, as an administrator."""
    stack.master.execute(
        "INSERT INTO config_revision (number, etag, bundle, bundle_bytes) VALUES (%s, %s, %s, 0)",
        "tasksys",
        (bundle.number, bundle.etag, bundle.body),
    )


def publish_numbers(stack: PrivateStack, *numbers: int) -> None:
    create_table(stack)
    for number in numbers:
        publish(stack, revision(number))


def compiled(number: int) -> PublishedBundle:
    """A bundle that the evaluator reads, without tasks."""
    text = compile_bundle(
        Configuration(),
        numbers={},
        uids={},
        revision=number,
        published_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
        previous=None,
        in_flight="keep",
        history_counts=False,
    )
    return PublishedBundle(number, etag_of(number, text), gzip.compress(text, 6, mtime=0))

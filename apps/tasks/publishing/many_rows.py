"""Ten thousand rows at once, past the ORM: it takes most of a publication's time to make, check and compile objects of them.

Only for rows that publishing itself makes: nothing here validates, sends signals or sets defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from django.db import connection
from django.db.models import Model

BYTES_AT_ONCE = 1 << 20
"""Of one INSERT. A packet may have 16 MiB by default."""


def insert_rows(model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], *, replacing: bool = False) -> None:
    """Insert rows with these fields. `replacing`: a row whose key is there gets the new values instead."""
    listed = list(rows)
    if not listed:
        return
    table = connection.ops.quote_name(model._meta.db_table)
    columns = [connection.ops.quote_name(model._meta.get_field(field).column) for field in fields]
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
    if replacing:
        sql += " ON DUPLICATE KEY UPDATE " + ", ".join(f"{column}=VALUES({column})" for column in columns)
    with connection.cursor() as cursor:
        cursor.cursor.max_stmt_length = BYTES_AT_ONCE
        cursor.executemany(sql, listed)


def as_json(value: Any) -> str | None:
    """For a JSON column; None is NULL."""
    return None if value is None else msgspec.json.encode(value).decode()


def from_json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)

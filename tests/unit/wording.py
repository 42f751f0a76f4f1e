"""What every sentence of the console must be."""

from __future__ import annotations


def has_unfilled_place(said: str, *material: object) -> bool:
    """A `%(name)s` that nobody filled. One that the material brought itself (a column's name, a task's title) is quoted rightly."""
    return "%(" in said and "%(" not in repr(material)

"""The contents of uploaded user lists: kept once under their SHA-256, told to a draft by their document."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

from apps.tasks.config.documents import LIST, UserList
from apps.tasks.models import Draft, ListContents
from apps.tasks.publishing.audit import Actor
from apps.tasks.publishing.drafts import save_document


def store(uids: Sequence[int]) -> ListContents:
    """Keep the uids (ascending, each once). The same ones are kept once."""
    text = text_of(uids)
    sha256 = hashlib.sha256(text).hexdigest()
    contents, _is_new = ListContents.objects.get_or_create(sha256=sha256, defaults={"count": len(uids), "packed": zlib.compress(text)})
    return contents


def upload_list(
    draft: Draft, edition: int, name: str, description: str, uids: Sequence[int], user: Actor, *, seen: int | None = None
) -> Draft:
    """Put a list with these uids (ascending, each once) into the draft. Raises Stale, NotOpen."""
    contents = store(uids)
    document = UserList(name=name, description=description, sha256=contents.sha256, count=contents.count)
    return save_document(draft, edition, LIST, document, user, seen=seen)


def text_of(uids: Sequence[int]) -> bytes:
    return "".join(f"{uid}\n" for uid in uids).encode()


def unpack(contents: ListContents) -> list[int]:
    return [int(line) for line in zlib.decompress(contents.packed).splitlines()]

"""The published configuration: the newest revision, and any older one, as documents.

Revisions never change, so what was decoded once is kept: the last few, in this process.
"""

from __future__ import annotations

import functools
import gzip

from apps.tasks.config.documents import Configuration, decode_configuration
from apps.tasks.models import Revision
from apps.tasks.publishing.errors import UnknownRevision

REVISIONS_KEPT = 4
NOTHING_YET = Configuration()


def live_number() -> int:
    """The newest revision's number; 0: nothing was published yet."""
    return Revision.objects.order_by("-number").values_list("number", flat=True).first() or 0


def live_configuration() -> Configuration:
    return configuration_at(live_number())


def configuration_at(number: int) -> Configuration:
    """What was live as revision `number`; 0: nothing. Raises UnknownRevision."""
    if number == 0:
        return NOTHING_YET
    etag = Revision.objects.filter(number=number).values_list("etag", flat=True).first()
    if etag is None:
        raise UnknownRevision(f"there is no revision {number}")
    return _decoded(number, etag)


@functools.lru_cache(maxsize=REVISIONS_KEPT)
def _decoded(number: int, etag: str) -> Configuration:
    """The tag stands beside the number because a database may be restored to before it, and go on from there."""
    (packed,) = Revision.objects.filter(number=number, etag=etag).values_list("configuration", flat=True)
    return decode_configuration(gzip.decompress(packed))

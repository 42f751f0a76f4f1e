"""A file on its way from the dry run to the draft: packed and signed, so that what is confirmed is what was shown.

It travels in the page. Nothing of it is kept on a server, so any logic node can take it, and there is nothing to clean up.
"""

from __future__ import annotations

import base64
import zlib

from django.core import signing

SALT = "apps.tasks.screens.exchange"
LASTS_S = 12 * 3600
MOST_BYTES = 16_000_000
"""Of a file: 20,000 tasks of some 800 bytes."""
MOST_PACKED = 2_000_000
"""Django takes 2.5 MB of fields."""


class TooLarge(Exception):
    """Packed it does not fit into the page."""


class NotThatFile(Exception):
    """It was changed on the way, or is too old."""


def pack(form: str, content: bytes) -> str:
    """`form`: json or csv. Raises TooLarge."""
    packed = base64.b85encode(zlib.compress(form.encode() + b"\n" + content, 9)).decode()
    signed = signing.TimestampSigner(salt=SALT).sign(packed)
    if len(signed) > MOST_PACKED:
        raise TooLarge(f"{len(signed)} characters")
    return signed


def unpack(signed: str) -> tuple[str, bytes]:
    """Raises NotThatFile."""
    try:
        packed = signing.TimestampSigner(salt=SALT).unsign(signed, max_age=LASTS_S)
    except signing.BadSignature as error:
        raise NotThatFile(str(error)) from error
    form, _line, content = zlib.decompress(base64.b85decode(packed)).partition(b"\n")
    return form.decode(), content

"""Lines on stderr that say what is being measured, and since when."""

from __future__ import annotations

import sys
import time

_began_at = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - _began_at:6.0f} s  {text} …", file=sys.stderr, flush=True)

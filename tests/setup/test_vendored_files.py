"""What browsers get from us under static/vendor/ is what its authors published."""

from __future__ import annotations

from deploy.vendor import faults


def test_every_vendored_file_is_the_published_one() -> None:
    assert faults() == []

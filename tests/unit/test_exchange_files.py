"""A file between dry run and draft: it comes back as it was, or not at all."""

from __future__ import annotations

import os

import pytest

from apps.tasks.screens.exchange_files import NotThatFile, TooLarge, pack, unpack


def test_a_file_comes_back_as_it_was() -> None:
    content = "名\n\n{}".encode() + bytes(range(256))

    assert unpack(pack("csv", content)) == ("csv", content)


@pytest.mark.parametrize("spoil", [lambda text: text[1:], lambda text: "x" + text, lambda text: "", lambda text: text[:-1] + "é"])
def test_a_file_that_was_changed_on_the_way_is_refused(spoil: object) -> None:
    with pytest.raises(NotThatFile):
        unpack(spoil(pack("json", b"{}")))  # type: ignore[operator]


def test_a_file_that_does_not_fit_into_a_page_is_refused() -> None:
    with pytest.raises(TooLarge):
        pack("json", os.urandom(3_000_000))

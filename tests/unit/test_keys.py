"""How an API key looks, and what may be written down about it."""

from __future__ import annotations

import re

import pytest

from apps.tasks.keys import KEY_FORM, create_api_key, digest, new_key_text, prefix_of


def test_keys_have_one_form_and_never_repeat() -> None:
    keys = {new_key_text() for _ in range(200)}

    assert len(keys) == 200
    assert all(KEY_FORM.match(key) for key in keys)


def test_the_prefix_names_a_key_without_giving_it_away() -> None:
    key = new_key_text()

    assert key.startswith(prefix_of(key) + "_")
    assert len(prefix_of(key)) == 12


def test_only_a_digest_is_stored() -> None:
    key = new_key_text()

    assert re.fullmatch(r"[0-9a-f]{64}", digest(key))
    assert digest(key) != digest(new_key_text())


@pytest.mark.parametrize("scopes", [[], ["root"], ["read", "root"]])
def test_a_key_without_scope_or_with_an_unknown_one_is_refused(scopes: list[str]) -> None:
    with pytest.raises(ValueError, match="scopes must be some of read, write, admin"):
        create_api_key("x", scopes)

"""An address is found as Django's own resolver finds it."""

from __future__ import annotations

import pytest
from django.http import Http404
from django.urls import Resolver404, URLPattern, URLResolver, path
from django.urls.resolvers import RoutePattern
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.api.addresses import Addresses
from apps.tasks.api.urls import urlpatterns

PARTS = sorted({part for pattern in urlpatterns for part in str(pattern.pattern).split("/") if "<" not in part})
ANY = st.one_of(st.sampled_from(PARTS), st.sampled_from(["7", "", "a b", "täglich", "tasks\n", "<str:uid>"]), st.text(max_size=5))


@given(st.lists(ANY, max_size=6))
def test_every_address_is_found_as_django_finds_it(parts: list[str]) -> None:
    asked = "/".join(parts)
    try:
        match = URLResolver(RoutePattern(""), "apps.tasks.api.urls").resolve(asked)
    except Resolver404:
        with pytest.raises(Http404):
            Addresses(urlpatterns).find(asked)
        return

    address, arguments = Addresses(urlpatterns).find(asked)

    assert (address.route, arguments, address.view) == (match.route, match.kwargs, match.func)


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: str(pattern.pattern))
def test_each_listed_address_is_found(pattern: URLPattern) -> None:
    asked = str(pattern.pattern).replace("<str:", "").replace(">", "")

    assert Addresses(urlpatterns).find(asked)[0].route == str(pattern.pattern)


def test_an_address_of_another_kind_is_a_fault_at_the_start() -> None:
    with pytest.raises(ValueError, match="only <str:name>"):
        Addresses([path("users/<int:uid>", lambda request: None)])  # type: ignore[arg-type,return-value]

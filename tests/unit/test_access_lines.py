"""An access line out of kept pieces is the line that every other record would get."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.api.access_log import Access, text_of
from tasksys_site.logs import line_of, moment_text

TEXTS = st.sampled_from(["", "bench", "game server", 'a"b', "a=b", "täglich\n"])


@given(
    st.floats(0, 4e9),
    st.sampled_from(["GET", "POST", "BREW"]),
    st.sampled_from([200, 404]),
    st.floats(0, 9e4),
    TEXTS,
    st.sampled_from(["0af7651916cd43dd", "a=b"]),
)
def test_it_is_written_as_every_other_line(at: float, method: str, status: int, ms: float, key: str, request_id: str) -> None:
    facts = {"status": status, "ms": f"{ms:.1f}", "key": key or "none", "request_id": request_id}

    line = text_of(Access(at, method, "users/<str:uid>/tasks", status, ms, key, request_id))

    assert line == line_of(at, "info", "apps.tasks.api.access", f"{method} /api/v1/users/{{uid}}/tasks", facts)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2099, 1, 1), timezones=st.just(timezone.utc)))
def test_its_moment_is_the_millisecond_that_has_begun(moment: datetime) -> None:
    assert moment_text(moment.timestamp()) == f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"

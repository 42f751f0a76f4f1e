"""What is known of a user when he is evaluated: for now, what the caller passes with the request."""

from __future__ import annotations

from collections.abc import Mapping

from apps.tasks.evaluation.attributes import Profile


def profile_of(uid: int, passed: Mapping[str, object]) -> Profile:
    return Profile(uid, passed, frozenset(passed))

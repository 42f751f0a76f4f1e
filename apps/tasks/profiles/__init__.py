"""What is known of a user when he is evaluated: what the caller passes with the request, and what the external profile system says.

The system is asked over HTTP (`source`), for many users at once and once for each (`fetching`); its values are kept on the user's cache
node (`kept`), each for its attribute's time to live. What the caller passes wins. docs/profiles.md is the contract.
"""

from __future__ import annotations

from apps.tasks.profiles.reading import (
    forget_profile,
    profile_at_hand,
    profile_of,
    profiles_of,
    state_in_words,
    user_with_profile,
)

__all__ = ["forget_profile", "profile_at_hand", "profile_of", "profiles_of", "state_in_words", "user_with_profile"]

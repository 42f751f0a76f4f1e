"""How a read goes on: to the master, or to its end."""

from __future__ import annotations

from tests.model.configuration import Rules
from tests.model.state import MASTER_ONLY, Read, State, Step, common_beginning, put, user_state, without


def send_to_master(state: State, place: int, sentence: str) -> Step:
    read = state.reads[place]._replace(stamp=MASTER_ONLY, received_by=-1, got=None)
    return Step(sentence, state._replace(reads=put(state.reads, place, read)))


def end_read(state: State, place: int, read: Read, rules: Rules, sentence: str) -> Step:
    """`read` has its answer, and its `generation` is the one that the answer was read in."""
    got = read.got or ()
    if rules.take_only_answers_of_this_generation and read.generation != state.front.generation:
        return send_to_master(state, place, f"{sentence}: {_say(got)}, of another generation, not taken")
    seen = got
    if state.is_unaware:
        # Shown before anybody could know that the database has lost some of it.
        seen = common_beginning(got, user_state(state.database.commits))
    shown = seen if len(seen) > len(state.shown) else state.shown
    return Step(f"{sentence}: {_say(got)}", state._replace(reads=without(state.reads, place), shown=shown), read)


def _say(got: tuple[str, ...]) -> str:
    return "+".join(got) or "nothing"

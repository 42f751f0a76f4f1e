"""The wire between a DBSvr and its clients: commands, values, errors.

RESP carries it (see docs/protocol.md); this module holds what travels inside: the arguments' limits, the JSON values as
typed structures, and one class for each cause of an error. Pure: it opens nothing. Both sides lean on it; it is all that
`apps` may import from `workers`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import zlib
from functools import lru_cache
from typing import Annotated, ClassVar, NamedTuple

import msgspec

MAX_UID = 2**63 - 1
MAX_BATCH_UIDS = 500
MAX_CHANGES = 500
MAX_CHANGES_BYTES = 256 * 1024
MAX_TASK = 2**32 - 1
MAX_MEMBER = 128
MAX_TIERS = 100
MAX_CAPS = 8
MAX_EXCLUDES = 100
MAX_VALUE = 2**53 - 1
"""Bound of progress, target and points: what every JSON reader holds exactly."""
EVENT_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:@/+=-]{0,63}\Z")
PERIOD_KEY = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:+-]{0,31}\Z")
NODE_NAME = re.compile(r"^[a-z][a-z0-9-]{0,30}\Z")
INSTANCE_NAME = re.compile(r"^[a-z][a-z0-9-]{0,30}\Z")

IN_PROGRESS, COMPLETED, CLAIMED = "in_progress", "completed", "claimed"

# Why a read went to the master. A replica read has none.
REASONS = ("in_flight", "recent_write", "replica_lag", "replica_down", "spill", "aged", "handed_back", "fresh_start", "not_owner")


class TaskRecord(msgspec.Struct, frozen=True, gc=False):
    """What is stored of one user's task in one period. Moments are milliseconds since 1970 (UTC)."""

    task: int
    period: str
    progress: int
    state: str
    completed_at: int | None
    claimed_at: int | None
    revision: int
    granted: int = 0
    """How many grants it has given: tiers, or 1 for a task without. Left out of the JSON where it is 0."""


class Snapshot(msgspec.Struct, frozen=True):
    """One user as one server saw him at one moment. An unknown user has version 0 and no tasks."""

    uid: int
    generation: int
    version: int
    points: int
    tasks: list[TaskRecord]
    served_by: str | None = None
    reason: str | None = None
    storable: bool = False


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a write.

    `add` counts on, `max` keeps the larger, `set` replaces, `distinct` counts `member` once, `complete` completes at once, `accept`
    begins a record without progress, `claim` takes what a completed record (or a reached tier) gives, `revert` takes progress back.

    With a `target`, progress that reaches it completes the task; `points` are granted once, at completion, or with `by_claim` at the claim.
    The rules that decide (target, points, tiers, caps) travel with the change; what they decide is decided where the single writer is.
    """

    task: int
    period: str
    op: str
    value: int = 0
    target: int = 0
    points: int = 0
    revision: int = 0
    mode: str = ""
    """Of a revert: what it takes back, `add`, `max`, `set` or `distinct`."""
    member: str = ""
    """Of distinct: the value that is counted, 1 to 128 characters."""
    tiers: tuple[tuple[int, int], ...] = ()
    """(target, points) of each, ascending; the last target is `target`. Each is granted once."""
    by_claim: bool = False
    caps: dict[str, int] = {}
    """Quota key and limit. `points` counts points given, every other key (`total`, a period key) completions, of all users."""
    excludes: tuple[tuple[int, str], ...] = ()
    """(task, period): when one of these records has begun, the change does nothing (an exclusive group)."""
    needs_record: bool = False
    """Without a record (not accepted yet) the change does nothing."""
    takes_back: bool = False
    """Whether a revert also takes back what was granted."""


class ChangeResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one change did: the record after it, and whether it was this change that completed the task.

    `points` were granted by this change (negative: taken back), in `granted` grants. `refused` says why it did nothing, or less than it
    could: `capped` (with the quota key in `about`), `excluded` (with the other task's number in `about`), `not_accepted`,
    `not_completed`, `already_claimed`.
    """

    task: int
    period: str
    progress: int
    state: str
    completed_now: bool
    points: int
    granted: int = 0
    claimed_now: bool = False
    refused: str = ""
    about: str = ""


class WriteAnswer(msgspec.Struct, frozen=True):
    """Answer to TASK.FINISH and TASK.CLEAR.

    `applied` is False for a repeated event id: `results` are then those of its first time, `snapshot` is the present state.
    `base_version` is the version that the write was applied on. `purge` names cache nodes with a copy to remove.
    """

    applied: bool
    results: list[ChangeResult]
    base_version: int
    snapshot: Snapshot
    purge: list[str]


class DBSvrError(Exception):
    """An error that a DBSvr answers, or that its client meets on the way.

    `retryable`: may the request be sent again? `outcome_unknown`: may it have happened all the same?
    """

    code: ClassVar[str] = "ERR"
    retryable: ClassVar[bool] = False
    outcome_unknown: ClassVar[bool] = False

    def __init__(self, sentence: str = "", *, retry_after_ms: int = 0) -> None:
        super().__init__(sentence or (type(self).__doc__ or "").split("\n")[0])
        self.retry_after_ms = retry_after_ms


class BadArgument(DBSvrError):
    """The request is wrong; it will be wrong again."""

    code = "BADARG"


class TooBig(DBSvrError):
    """The request is larger than the wire allows."""

    code = "TOOBIG"


class NotAuthenticated(DBSvrError):
    """The connection must authenticate with AUTH first."""

    code = "NOAUTH"


class Overloaded(DBSvrError):
    """The DBSvr holds as many requests as it may. Nothing was done; try again a little later."""

    code = "OVERLOADED"
    retryable = True


class MasterDown(DBSvrError):
    """The master does not answer. A write is refused, nothing was done."""

    code = "MASTERDOWN"
    retryable = True


class TimedOut(DBSvrError):
    """No answer within the deadline. A write may have happened all the same: repeat it with the same event id."""

    code = "TIMEOUT"
    retryable = True
    outcome_unknown = True


class Refused(DBSvrError):
    """The database refused this request alone; the others of its batch went through."""

    code = "REFUSED"


class Unreachable(DBSvrError):
    """The DBSvr cannot be reached. Said by the client, never on the wire."""

    code = "UNREACHABLE"
    retryable = True
    outcome_unknown = True


class NotOwner(DBSvrError):
    """Another DBSvr owns this user, and it could not be reached from here. Nothing was done; ask the owner.

    The sentence begins with the words `segment owner`, each "-" where it is not known; so it travels on the wire as it is.
    """

    code = "NOTOWNER"
    retryable = True

    @classmethod
    def of(cls, segment: str, owner: str, sentence: str) -> NotOwner:
        return cls(f"{segment or '-'} {owner or '-'} {sentence}")

    @property
    def segment(self) -> str:
        """The user's segment; empty when the DBSvr did not know it."""
        return self._word(0)

    @property
    def owner(self) -> str:
        """Who owns it as far as the DBSvr that said this knew; empty when it did not."""
        return self._word(1)

    def _word(self, place: int) -> str:
        words = str(self).split(maxsplit=2)
        return words[place] if len(words) > 1 and INSTANCE_NAME.match(words[place]) else ""


class OldRules(DBSvrError):
    """The user has a record of a newer revision than the one that this write was decided by. Nothing was done; decide it by the newer.

    The sentence begins with that revision's number.
    """

    code = "OLDRULES"

    @property
    def revision(self) -> int:
        """The least revision to decide by; 0 where the sentence does not say it."""
        word = str(self).partition(" ")[0]
        return int(word) if word.isdigit() else 0


class ConfigUnseen(DBSvrError):
    """This DBSvr has not seen the published task configuration for a while, so it cannot say what is newest. Another one may."""

    code = "UNSEEN"
    retryable = True


class DamagedRevision(DBSvrError):
    """The newest task configuration cannot be read. The one that the asker has is the last good one, and stands."""

    code = "DAMAGED"
    retryable = True


ERRORS: dict[str, type[DBSvrError]] = {
    cls.code: cls
    for cls in (
        BadArgument,
        TooBig,
        NotAuthenticated,
        Overloaded,
        MasterDown,
        TimedOut,
        Refused,
        Unreachable,
        NotOwner,
        OldRules,
        ConfigUnseen,
        DamagedRevision,
    )
}


class PublishedBundle(NamedTuple):
    """One revision of the task configuration as it travels: `body` is the bundle's JSON, as gzip."""

    number: int
    etag: str
    body: bytes


MAX_BODY_BYTES = 15 * 1024 * 1024
"""Of the gzip. A server sends no row above its max_allowed_packet (16 MiB): asking for one would cost the worker its connection, again and
again."""
MAX_BUNDLE_BYTES = 64 * 1024 * 1024
"""Of the JSON. What unpacks to more is no bundle of ours."""


class BadBody(ValueError):
    """These bytes are not the bundle that the ETag names."""


def unpack_bundle(bundle: PublishedBundle) -> bytes:
    """The bundle's JSON, proven by its ETag: `<revision>-<first 16 hex digits of the SHA-256 of the JSON>`. Raises BadBody.

    Lets other threads run while it works.
    """
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(bundle.body, MAX_BUNDLE_BYTES)
    except zlib.error as error:
        raise BadBody(f"it is no gzip: {error}") from error
    if not unpacker.eof:
        raise BadBody("its gzip is cut off" if not unpacker.unconsumed_tail else f"it unpacks to more than {MAX_BUNDLE_BYTES} bytes")
    number, _, digest = bundle.etag.strip('"').partition("-")
    found = hashlib.sha256(text).hexdigest()[:16]
    if (number, digest) != (str(bundle.number), found):
        raise BadBody(f"its content is {bundle.number}-{found}, its ETag says {bundle.etag}")
    return text


def error_from_wire(line: str) -> DBSvrError:
    """The error that a RESP error line stands for: `CODE sentence`. An unknown code becomes a plain DBSvrError."""
    code, _, sentence = line.partition(" ")
    retry = re.search(r"retry after (\d+) ms", sentence)
    return ERRORS.get(code, DBSvrError)(sentence or line, retry_after_ms=int(retry.group(1)) if retry else 0)


decode_changes = msgspec.json.Decoder(list[Change]).decode
decode_snapshot = msgspec.json.Decoder(Snapshot).decode
decode_write_answer = msgspec.json.Decoder(WriteAnswer).decode
encode = msgspec.json.encode

ETAG = re.compile(r"^(\d{1,9})(-[0-9a-f]{16})?\Z")


def parse_known_revision(text: bytes) -> tuple[int, str]:
    """What an asker for the task configuration has already: a revision's number, or its whole ETag. Raises BadArgument.

    The ETag is empty when only a number was given; quotes around it are left out.
    """
    word = text.decode("ascii", "replace").strip('"')
    found = ETAG.match(word)
    if not found:
        raise BadArgument(f"revision must be a number, or an ETag like 42-0123456789abcdef, not {word[:40]!r}")
    return int(found[1]), word if found[2] else ""


MODES = ("add", "max", "set", "distinct")
OPERATIONS = (*MODES, "complete", "accept", "claim", "revert")


class RepairOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Write one row again as it is on the master, by a statement, so that every replica has it (TASK.REPAIR).

    `key`: the primary key's values, in its order. `above`: a version that the user's must rise above, since a copy may show it. `dry`: say
    what would be done, and do nothing.
    """

    table: str
    key: list[str]
    above: int = 0
    dry: bool = False


class RepairAnswer(msgspec.Struct, frozen=True):
    """`statements` as they were executed, or would be; `version`: the user's, after it."""

    applied: bool
    statements: list[str]
    version: int = 0


_decode_repair = msgspec.json.Decoder(RepairOrder).decode
decode_repair_answer = msgspec.json.Decoder(RepairAnswer).decode
TABLE_NAME = re.compile(r"^[a-z][a-z0-9_]{0,63}\Z")


def parse_repair(text: bytes) -> RepairOrder:
    """The order of a TASK.REPAIR from its JSON. Raises BadArgument."""
    try:
        order = _decode_repair(text)
    except msgspec.MsgspecError as error:
        raise BadArgument(f"order: {error}") from error
    if not TABLE_NAME.match(order.table) or not 1 <= len(order.key) <= 16 or not 0 <= order.above < MAX_UID:
        raise BadArgument("order: table must be a lower-case name, key 1 to 16 values, above a version")
    return order


_uids_of_json = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(ge=1, le=MAX_UID)]]).decode


def parse_uid(text: bytes) -> int:
    """A uid from its decimal digits; leading zeros are accepted. Raises BadArgument."""
    if not text.isdigit() or len(text) > 40:
        raise BadArgument(f"uid must be decimal digits, not {text[:40].decode('ascii', 'replace')!r}")
    uid = int(text)
    if not 1 <= uid <= MAX_UID:
        raise BadArgument(f"uid must be in 1 … 2^63-1, not {uid}")
    return uid


def parse_uids(texts: list[bytes]) -> list[int]:
    """Of each what `parse_uid` says. Raises BadArgument."""
    if b"".join(texts).isdigit():
        with contextlib.suppress(msgspec.MsgspecError):  # one at a time tells which is none; and takes leading zeros
            return _uids_of_json(b"[%b]" % b",".join(texts))
    return [parse_uid(text) for text in texts]


@lru_cache(maxsize=1024)  # nodes are few
def parse_node(text: bytes) -> str:
    """The asker's cache node. Raises BadArgument."""
    node = text.decode("ascii", "replace")
    if not NODE_NAME.match(node):
        raise BadArgument(f"node must be a lower-case name like node-1, not {node[:40]!r}")
    return node


def parse_event_id(text: bytes) -> str:
    """The event id that makes a write safe to repeat. Raises BadArgument."""
    event_id = text.decode("ascii", "replace")
    if not EVENT_ID.match(event_id):
        raise BadArgument(f"event_id must be 1 to 64 of letters, digits and ._:@/+=-, not {event_id[:70]!r}")
    return event_id


def parse_changes(text: bytes) -> list[Change]:
    """The changes of a TASK.FINISH from their JSON. Raises BadArgument, TooBig; the sentence names the change at fault."""
    if len(text) > MAX_CHANGES_BYTES:
        raise TooBig(f"changes are {len(text)} bytes, the limit is {MAX_CHANGES_BYTES}")
    try:
        changes = decode_changes(text)
    except msgspec.MsgspecError as error:
        raise BadArgument(f"changes: {error}") from error
    except RecursionError as error:
        raise BadArgument("changes: nested too deeply") from error
    if not 1 <= len(changes) <= MAX_CHANGES:
        raise BadArgument(f"changes must be 1 to {MAX_CHANGES}, not {len(changes)}")
    for position, change in enumerate(changes):
        fault = _fault_in(change)
        if fault:
            raise BadArgument(f"changes[{position}].{fault}")
    return changes


def _fault_in(change: Change) -> str | None:
    if not 1 <= change.task <= MAX_TASK:
        return f"task must be in 1 … {MAX_TASK}, not {change.task}"
    if not PERIOD_KEY.match(change.period):
        return f"period must be 1 to 32 of letters, digits and ._:+-, not {change.period[:40]!r}"
    if change.op not in OPERATIONS:
        return f"op must be one of {', '.join(OPERATIONS)}, not {change.op[:20]!r}"
    if not 0 <= change.revision <= MAX_TASK:
        return f"revision must be in 0 … {MAX_TASK}, not {change.revision}"
    for name in ("value", "target", "points"):
        number = getattr(change, name)
        if not 0 <= number <= MAX_VALUE:
            return f"{name} must be in 0 … 2^53-1, not {number}"
    if (change.mode or change.member or change.op in ("distinct", "revert")) and (fault := _fault_in_mode(change)):
        return fault
    if change.tiers and (fault := _fault_in_tiers(change)):
        return fault
    if change.caps or change.excludes:
        return _fault_in_limits(change)
    return None


def _fault_in_mode(change: Change) -> str | None:
    if change.op == "revert":
        if change.mode not in MODES:
            return f"mode must be one of {', '.join(MODES)}, not {change.mode[:20]!r}"
    elif change.mode:
        return f"mode is of a revert, not of {change.op}"
    if "distinct" not in (change.op, change.mode):
        return "member is of distinct alone" if change.member else None
    if not 1 <= len(change.member) <= MAX_MEMBER or not change.member.isprintable():
        return f"member must be 1 to {MAX_MEMBER} printable characters, not {change.member[:40]!r}"
    return None


def _fault_in_tiers(change: Change) -> str | None:
    if len(change.tiers) > MAX_TIERS:
        return f"tiers must be at most {MAX_TIERS}, not {len(change.tiers)}"
    before = 0
    for place, (target, points) in enumerate(change.tiers):
        if not before < target <= MAX_VALUE:
            return f"tiers[{place}] must have a target above {before}, at most 2^53-1, not {target}"
        if not 0 <= points <= MAX_VALUE:
            return f"tiers[{place}] must have points in 0 … 2^53-1, not {points}"
        before = target
    return None if before == change.target else f"target must be that of the last tier, {before}, not {change.target}"


def _fault_in_limits(change: Change) -> str | None:
    if len(change.caps) > MAX_CAPS:
        return f"caps must be at most {MAX_CAPS}, not {len(change.caps)}"
    for key, limit in change.caps.items():
        if not PERIOD_KEY.match(key):
            return f"caps must have keys of 1 to 32 letters, digits and ._:+-, not {key[:40]!r}"
        if not 0 <= limit <= MAX_VALUE:
            return f"caps must have limits in 0 … 2^53-1, not {limit}"
    if len(change.excludes) > MAX_EXCLUDES:
        return f"excludes must be at most {MAX_EXCLUDES}, not {len(change.excludes)}"
    for task, period in change.excludes:
        if not 1 <= task <= MAX_TASK or not PERIOD_KEY.match(period):
            return f"excludes must be of tasks and periods, not {task} and {period[:40]!r}"
    return None

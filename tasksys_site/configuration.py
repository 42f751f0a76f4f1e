"""The typed configuration: one file, `tasksys.toml`, and the environment over it.

Leans on pydantic-settings; imports neither Django nor Celery, so that the DBSvr's processes can read it too.
All faults are reported at once, and an unknown name is a fault, in the file as in the environment (`TASKSYS_*`).
Read it once, at the edge of a process, and pass sections down.

Environment: `TASKSYS_<SECTION>__<KEY>`, for example `TASKSYS_WEB__PORT=7381`; lists and tables as JSON.
`TASKSYS_CONFIG` names another file. Relative paths are relative to the project's folder.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

PROJECT = Path(__file__).resolve().parent.parent
ENVIRONMENT_PREFIX = "TASKSYS_"
FILE_VARIABLE = "TASKSYS_CONFIG"
MAX_UID = 2**63 - 1
SECOND_HALF = 5_000_000_000
"""Without dbsvr.segments, of two DBSvrs the first owns the uids below it."""

LARGEST_UID = 2**63 - 1
QUEUES_PER_INSTANCE = 3
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})

Port = Annotated[int, Field(ge=1, le=65535)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
Endpoint = Annotated[str, StringConstraints(pattern=r"^[^\s:/]+:\d{1,5}$")]
"""`host:port` of a database, or of a gateway in front of it."""


def _network(text: str) -> str:
    ipaddress.ip_network(text)  # ValueError says what is wrong with it
    return text


Network = Annotated[str, AfterValidator(_network)]
"""An address, or a network like 10.0.0.0/24."""


class ConfigurationError(Exception):
    """The configuration has faults; the message lists every one of them."""


class Section(BaseModel):
    """A part of the configuration. Frozen, and closed to unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Account(Section):
    """A database account. Its password stands in a file, never in the configuration."""

    user: str
    password_file: Path

    @property
    def password(self) -> str:
        return read_secret(self.password_file)


class Accounts(Section):
    """One account for each kind of use; none has SUPER or READ_ONLY ADMIN."""

    migrations: Account = Account(user="tasksys_migrations", password_file=Path("var/secrets/migrations"))
    workers: Account = Account(user="tasksys_workers", password_file=Path("var/secrets/workers"))
    web: Account = Account(user="tasksys_web", password_file=Path("var/secrets/web"))
    reading: Account = Account(user="tasksys_reading", password_file=Path("var/secrets/reading"))
    repair: Account = Account(user="tasksys_repair", password_file=Path("var/secrets/repair"))
    """With which a DBSvr mends rows of a replica; it alone has BINLOG ADMIN. Where it does not exist, a repair is refused, and says what to
    grant (docs/replica-diff.md)."""


class Replica(Section):
    name: Name
    endpoints: tuple[Endpoint, ...] = Field(min_length=1)


class Databases(Section):
    """The master and its replicas, each a list of endpoints of which the first that qualifies is used."""

    master: tuple[Endpoint, ...] = Field(("127.0.0.1:7306",), min_length=1)
    replicas: tuple[Replica, ...] = (Replica(name="r1", endpoints=("127.0.0.1:7307",)),)
    configuration_schema: str = "tasksys"
    user_schema: str = "tasksys_user"
    accounts: Accounts = Accounts()
    connect_timeout_s: int = Field(2, ge=1)
    read_timeout_s: int = Field(5, ge=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Databases:
        names = [replica.name for replica in self.replicas]
        if len(set(names)) != len(names) or "master" in names:
            raise ValueError(f"replica names must differ from each other and from 'master': {', '.join(names)}")
        return self


class Instance(Section):
    """One DBSvr: where its front listens and what identifies its queues on this host."""

    host: str = "127.0.0.1"
    port: Port
    queue_key: int = Field(ge=1, le=2**31 - 8)
    """SysV key of the finish queue; query and clear queue have the two keys that follow."""
    auth_user: str = ""
    auth_secret_file: Path | None = None
    """With a user and a secret, clients must `AUTH user secret` first."""
    metrics_port: int = Field(0, ge=0, le=65535)
    """Prometheus' port on the same host, without AUTH; 0: none."""

    @model_validator(mode="after")
    def _user_and_secret_together(self) -> Instance:
        if bool(self.auth_user) != bool(self.auth_secret_file):
            raise ValueError("auth_user and auth_secret_file go together: set both or none")
        return self


class Segment(Section):
    """A range of users, and the DBSvr that owns it when all is well."""

    name: Name
    first: int = Field(ge=1, le=MAX_UID)
    last: int = Field(ge=1, le=MAX_UID)
    home: Name


class DBSvr(Section):
    """What all instances share: rhythm, bounds, and the instances themselves."""

    instances: dict[Name, Instance] = Field(
        {
            "a": Instance(port=7301, queue_key=0x7301_00, metrics_port=7311),
            "b": Instance(port=7302, queue_key=0x7302_00, metrics_port=7312),
        },
        min_length=1,
    )
    run_dir: Path = Path("var/run")
    """Folder of the local sockets on which a front and its workers talk."""
    beat_ms: int = Field(100, ge=10)
    spill_ms: int = Field(50, ge=0)
    spill_depth: int = Field(64, ge=0)
    age_limit_ms: int = Field(200, ge=10)
    clear_age_limit_ms: int = Field(60_000, ge=100)
    batch: int = Field(128, ge=1, le=1024)
    deadline_ms: int = Field(2_000, ge=50)
    """A request that is not answered in this time is answered `TIMEOUT`."""
    backlog: int = Field(20_000, ge=100)
    """Requests a front holds at most; one more is answered `OVERLOADED` at once."""
    max_stamps: int = Field(2_000_000, ge=1000)
    """Recorded stamps at most; beyond it the oldest is dropped and the floor rises to it (INV 4)."""
    max_clients: int = Field(10_000, ge=10)
    max_output_bytes: int = Field(8 * 1024 * 1024, ge=64 * 1024)
    """Answers a client may leave unread before he is cut."""
    event_retention_days: int = Field(30, ge=1)
    segments: tuple[Segment, ...] = ()
    """Which DBSvr owns which users. Empty: the first owns all, or two share them at SECOND_HALF."""
    lease_ms: int = Field(2_000, ge=200)
    """An owner uses replicas only while its last look at the ownership is younger; who takes over waits so long."""
    takeover_after_ms: int = Field(600, ge=100)
    """The other DBSvr takes over when the owner's tick has stood still for so long and its users ask."""
    hold_ms: int = Field(30_000, ge=1_000)
    """A segment changes its owner at most once in this time."""
    give_back_after_ms: int = Field(10_000, ge=0)
    """A segment goes back when its home has been healthy for so long."""

    @model_validator(mode="after")
    def _queue_keys_differ(self) -> DBSvr:
        for (name, one), (other_name, other) in itertools.combinations(self.instances.items(), 2):
            if one.host == other.host and abs(one.queue_key - other.queue_key) < QUEUES_PER_INSTANCE:
                raise ValueError(
                    f"the queue keys of {name} and {other_name} overlap: each has the {QUEUES_PER_INSTANCE} keys from queue_key on"
                )
        return self

    @property
    def segment_list(self) -> tuple[Segment, ...]:
        """The segments, all users covered, in the order of their uids."""
        if self.segments:
            return tuple(sorted(self.segments, key=lambda segment: segment.first))
        first, *others = self.instances
        if not others:
            return (Segment(name="all", first=1, last=MAX_UID, home=first),)
        return (
            Segment(name="low", first=1, last=SECOND_HALF - 1, home=first),
            Segment(name="high", first=SECOND_HALF, last=MAX_UID, home=others[0]),
        )

    def home_of(self, uid: int) -> str:
        """The DBSvr that owns this user when all is well."""
        return next(segment.home for segment in self.segment_list if segment.first <= uid <= segment.last)

    @model_validator(mode="after")
    def _segments_cover_all(self) -> DBSvr:
        if not self.segments and len(self.instances) > 2:
            raise ValueError("more than two instances: say in dbsvr.segments which owns which users")
        if len({segment.name for segment in self.segments}) != len(self.segments):
            raise ValueError("the names of dbsvr.segments must differ")
        next_uid = 1
        for segment in self.segment_list:
            if segment.home not in self.instances:
                raise ValueError(f"dbsvr.segments: {segment.name} has its home at {segment.home!r}, which is no instance")
            if segment.first != next_uid or segment.last < segment.first:
                raise ValueError(f"dbsvr.segments: {segment.name} must begin at uid {next_uid}: every uid belongs to exactly one segment")
            next_uid = segment.last + 1
        if next_uid != MAX_UID + 1:
            raise ValueError(f"dbsvr.segments: nobody owns the uids from {next_uid} on; the last segment must end at {MAX_UID}")
        return self


class CacheNode(Section):
    name: Name
    """Stable name: the ring hashes it, so it must not change when the address does."""
    url: str


class Cache(Section):
    nodes: tuple[CacheNode, ...] = (
        CacheNode(name="node-1", url="redis://127.0.0.1:7401/0"),
        CacheNode(name="node-2", url="redis://127.0.0.1:7402/0"),
    )
    """The nodes of a new installation; later ones are added in the console. A changed address here is taken over."""
    copy_ttl_ms: int = Field(300_000, ge=100)
    """How long a copy lives."""
    timeout_ms: int = Field(250, ge=10)
    purge_before_answer_ms: int = Field(100, ge=1)
    """How long an answer to a write waits for purges on other nodes; the cache sync center does what is left."""
    purge_grace_ms: int = Field(2_000, ge=200)
    """A node with an unfinished purge older than this is used by nobody (INV 11)."""
    check_one_in: int = Field(100, ge=0)
    """One write in so many is followed on all nodes by the cache checker; 0: none."""

    @model_validator(mode="after")
    def _names_differ(self) -> Cache:
        names = [node.name for node in self.nodes]
        if len(set(names)) != len(names):
            raise ValueError(f"cache node names must differ: {', '.join(names)}")
        if len({node.url for node in self.nodes}) != len(names):
            raise ValueError("cache nodes must differ in their url: two names for one Redis would share its copies")
        if "none" in names:
            raise ValueError("no cache node can be named none: that is what a request says that uses no node")
        return self


class Broker(Section):
    url: str = "redis://127.0.0.1:7400/0"


class Web(Section):
    host: str = "127.0.0.1"
    port: Port = 7380
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    debug: bool = False
    https: bool = False
    """Behind a proxy that speaks TLS and sets X-Forwarded-Proto: cookies are then for https only."""
    hsts_days: int = Field(0, ge=0, le=730)
    """For so long browsers that were here once refuse plain http. Not to be taken back: only when https works for good."""
    proxies: tuple[Network, ...] = ()
    """Addresses or networks of the proxies in front: of them alone X-Forwarded-For is believed."""
    session_hours: int = Field(12, ge=1, le=24 * 30)
    """After a login, however busy."""
    login_failures: int = Field(5, ge=2)
    """So many failed logins to one account from one address lock it for that address."""
    login_lock_minutes: int = Field(15, ge=1)
    demo: bool = True
    """The demo stack: the console shows the "Five minutes" strip."""
    secret_key_file: Path = Path("var/secrets/django")
    workers: int = Field(2, ge=1)
    time_zone: str = "UTC"
    deadline_ms: int = Field(3_000, ge=100)
    """For one request of a logic server, with all repeats underneath."""

    @model_validator(mode="after")
    def _hsts_needs_https(self) -> Web:
        if self.hsts_days and not self.https:
            raise ValueError("hsts_days: needs https = true, or nobody could come back")
        return self


LEAST_KEEP_DAYS = 14


class Points(Section):
    """The external points system, to which grants are delivered."""

    url: str = ""
    """Where grants are sent (see docs/points.md); empty: they wait."""
    token_file: Path | None = None
    """A secret, sent as `Authorization: Bearer …`."""
    timeout_ms: int = Field(2_000, ge=50)
    rate_per_s: int = Field(200, ge=1)
    """At most so many requests a second, of all relays together."""
    sends: Literal["grants", "totals"] = "grants"
    """Every grant, or only each user's newest total."""
    give_up_after_s: int = Field(86_400, ge=60)
    """A grant that failed for so long is dead: an operator sends it again."""
    keep_days: int = Field(90, ge=0)
    """Grants that are confirmed, or superseded, are deleted after so long; 0: never."""

    @model_validator(mode="after")
    def _days_are_compared_first(self) -> Points:
        if 0 < self.keep_days < LEAST_KEEP_DAYS:
            raise ValueError(f"keep_days: 0, or at least {LEAST_KEEP_DAYS}: days are compared with the points system until then")
        return self


class Profiles(Section):
    """The external profile system: levels, VIP, regions …"""

    url: str = ""
    """Where profiles are asked for (see docs/profiles.md); empty: attributes come from the caller alone."""
    token_file: Path | None = None
    timeout_ms: int = Field(150, ge=10)
    """For one call; what does not come in time is taken from older values, or unknown."""
    stale_limit_s: int = Field(3_600, ge=0)
    """While it is down, a value may be used for so long after its time to live."""
    batch: int = Field(100, ge=1, le=500)


class Reference(Section):
    """The reference servers that the local stack starts, and uses where `points.url` or `profiles.url` is empty."""

    points_port: int = Field(7501, ge=0, le=65535)
    """0: none is started."""
    profiles_port: int = Field(7502, ge=0, le=65535)


class Diff(Section):
    """Comparing the replicas with the master."""

    nightly_at: str = Field("03:00", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    """When the nightly samples begin, UTC; empty: never."""
    sample_percent: float = Field(10, gt=0, le=100)
    """Of each table's rows a night; the next night goes on where this one ended."""
    budget_ms: int = Field(500, ge=20)
    """What one chunk may cost each server."""
    max_lag_ms: int = Field(60_000, ge=100)
    """While the replica is further behind, a run waits."""
    max_queue: int = Field(500, ge=1)
    """While more requests wait in a DBSvr, a run waits."""
    stands_after_s: int = Field(10, ge=1)
    """A replica whose tick has not moved for so long, while the master's has, stands still: the run stops and says so."""
    hold_above: int = Field(0, ge=0)
    """With more differing rows than this on a replica, no DBSvr uses it until none is known to differ, or it is released; 0: never."""


class Sweep(Section):
    """Deleting rows that are old enough (docs/operations.md)."""

    at: str = Field("02:00", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    """When a day's round begins, UTC; empty: never."""
    rows_at_once: int = Field(200, ge=1, le=2_000)
    """Deleted by one statement, at most."""
    max_lag_ms: int = Field(10_000, ge=100)
    """While a replica is further behind, a sweep waits."""
    max_queue: int = Field(200, ge=1)
    """While more requests wait in a DBSvr, a sweep waits."""


class Canary(Section):
    """The reserved users whom the canary writes and reads, to see the promises kept."""

    first_uid: int = Field(LARGEST_UID - 1023, ge=1, le=LARGEST_UID)
    """From here to the largest uid all are reserved: the API refuses them."""
    users: int = Field(64, ge=0)
    """How many of them the canary uses in turn; 0: no canary."""
    every_s: int = Field(10, ge=5)

    @model_validator(mode="after")
    def _users_fit(self) -> Canary:
        if self.users > LARGEST_UID - self.first_uid + 1:
            raise ValueError(f"users: there are only {LARGEST_UID - self.first_uid + 1} uids from first_uid on")
        return self


class Configuration(BaseSettings):
    """Everything Tasksys can be told."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, nested_model_default_partial_update=True
    )

    var_dir: Path = Path("var")
    databases: Databases = Databases()
    dbsvr: DBSvr = Field(default_factory=DBSvr)
    cache: Cache = Cache()
    broker: Broker = Broker()
    web: Web = Web()
    points: Points = Points()
    profiles: Profiles = Profiles()
    reference: Reference = Reference()
    diff: Diff = Diff()
    sweep: Sweep = Sweep()
    canary: Canary = Canary()

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **named: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = TomlConfigSettingsSource(settings_cls, configuration_file())
        chosen: list[PydanticBaseSettingsSource] = [named["init_settings"], named["env_settings"], file]
        if not file().get("dbsvr", {}).get("instances"):
            # The environment may change one thing of a default DBSvr. A file that names any of them names them all: merged with the
            # defaults, a host with one DBSvr could not be configured.
            default = {name: instance.model_dump() for name, instance in DBSvr().instances.items()}
            chosen.append(InitSettingsSource(settings_cls, init_kwargs={"dbsvr": {"instances": default}}))
        return tuple(chosen)

    @model_validator(mode="after")
    def _ports_differ(self) -> Configuration:
        listeners = [(self.web.host, self.web.port)]
        for instance in self.dbsvr.instances.values():
            listeners += [(instance.host, port) for port in (instance.port, instance.metrics_port) if port]
        for (host, port), (other_host, other_port) in itertools.combinations(listeners, 2):
            if port == other_port and (host == other_host or {host, other_host} & EVERY_ADDRESS):
                raise ValueError(
                    f"web.port and the ports and metrics ports of dbsvr.instances must differ on one host: {port} is there twice"
                )
        return self

    def instance(self, name: str) -> Instance:
        """The DBSvr instance of that name; ConfigurationError with the names there are."""
        try:
            return self.dbsvr.instances[name]
        except KeyError:
            known = ", ".join(sorted(self.dbsvr.instances))
            raise ConfigurationError(f"no DBSvr instance named {name!r} in dbsvr.instances (there are: {known})") from None


def configuration_file() -> Path:
    """The file that is read: `TASKSYS_CONFIG`, else `tasksys.toml` in the project's folder. It may be absent."""
    return in_project(Path(os.environ.get(FILE_VARIABLE, "tasksys.toml")))


def in_project(path: Path) -> Path:
    """`path`, taken from the project's folder when it is relative."""
    return path if path.is_absolute() else PROJECT / path


def read_secret(path: Path) -> str:
    """The secret in a file, without the line's end. ConfigurationError says which file is missing."""
    try:
        return in_project(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"cannot read the secret in {in_project(path)}: {error.strerror}") from error


def load() -> Configuration:
    """Read and check everything. Raises ConfigurationError that names every fault at once."""
    faults = _unknown_environment()
    if FILE_VARIABLE in os.environ and not configuration_file().is_file():
        faults.append(f"{FILE_VARIABLE}: there is no file {configuration_file()}")
    configuration = None
    try:
        configuration = Configuration()
    except ValidationError as error:
        faults += [_sentence(fault) for fault in error.errors()]
    except ValueError as error:  # not TOML, not JSON
        faults.append(f"{configuration_file().name}: {error}")
    if faults or configuration is None:
        raise ConfigurationError("The configuration has faults:\n" + "\n".join(f"  - {fault}" for fault in faults))
    return configuration


def _sentence(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "configuration"
    what = "is no setting" if fault["type"] == "extra_forbidden" else str(fault["msg"])
    return f"{where}: {what}"


def _unknown_environment() -> list[str]:
    """pydantic-settings passes over unknown environment names in silence, so they are checked here."""
    faults = []
    for variable in os.environ:
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == FILE_VARIABLE:
            continue
        section: Any = Configuration
        for key in variable.removeprefix(ENVIRONMENT_PREFIX).lower().split("__"):
            if not (isinstance(section, type) and issubclass(section, BaseModel)):
                break  # inside a table or a list: validation looks at the rest
            if key not in section.model_fields:
                faults.append(f"environment {variable}: is no setting")
                break
            section = section.model_fields[key].annotation
    return faults

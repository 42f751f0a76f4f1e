"""The commands that clients send: arguments checked, handed to the dispatch, or answered at once.

One method for each command; the table at the foot of the class names them. What redis-py, redis-cli and redis-benchmark say
on connecting is answered as they expect.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from workers.clients import Client
from workers.dispatch import Dispatch
from workers.front_stats import explain, stats
from workers.mirror import decode_part
from workers.protocol import (
    MAX_BATCH_UIDS,
    BadArgument,
    NotAuthenticated,
    parse_changes,
    parse_event_id,
    parse_known_revision,
    parse_node,
    parse_repair,
    parse_uid,
    parse_uids,
)
from workers.requests import CLEAR, FINISH, Gather

Words: TypeAlias = "list[bytes]"
Command: TypeAlias = Callable[["Commands", Client, Words, float], None]
LONGEST_BLOCK_MS = 60_000
LONGEST_NAME, LONGEST_REASON = 150, 200
BEFORE_AUTH = (b"AUTH", b"HELLO", b"QUIT")


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


class Commands:
    def __init__(self, dispatch: Dispatch, auth: tuple[str, str] | None, max_clients: int, log: logging.Logger) -> None:
        """`auth` is user and secret; None lets everybody in."""
        self._dispatch = dispatch
        self._auth = auth
        self._max_clients = max_clients
        self._log = log
        self._clients: set[Client] = set()
        self._last_client_id = 0

    @property
    def needs_auth(self) -> bool:
        return self._auth is not None

    @property
    def connections(self) -> int:
        return len(self._clients)

    def admit(self, client: Client) -> bool:
        if len(self._clients) >= self._max_clients:
            self._dispatch.counts.connections_refused += 1
            return False
        self._last_client_id += 1
        client.client_id = self._last_client_id
        self._clients.add(client)
        self._dispatch.counts.connections_accepted += 1
        return True

    def dismiss(self, client: Client) -> None:
        self._clients.discard(client)

    def take_leave(self) -> None:
        """The front is to stop: what was accepted is answered, nothing more is accepted, then each connection is closed."""
        for client in list(self._clients):
            client.leave_once_answered()

    def note_cut(self, why: str) -> None:
        self._dispatch.counts.connections_cut += 1
        self._log.warning('cut a client why="%s"', why)

    def count_error(self, code: str) -> None:
        self._dispatch.counts.errors[code] += 1

    def obey(self, client: Client, words: Words, now: float) -> None:
        """Raises BadArgument and its like; the connection turns them into error replies."""
        command = self._COMMANDS.get(words[0]) or self._COMMANDS.get(words[0].upper())
        if not client.is_authenticated and words[0].upper() not in BEFORE_AUTH:
            raise NotAuthenticated()
        if command is None:
            client.pending.append(b"-ERR unknown command '%b'\r\n" % b" ".join(words[0][:40].split()))
            return
        command(self, client, words, now)

    # -- the task commands

    def _get(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 3:
            raise BadArgument("usage: TASK.GET uid node")
        self._dispatch.accept_read(client, parse_uid(words[1]), parse_node(words[2]), now)

    def _mget(self, client: Client, words: Words, now: float) -> None:
        if not 3 <= len(words) <= 2 + MAX_BATCH_UIDS:
            raise BadArgument(f"usage: TASK.MGET node uid [uid …], at most {MAX_BATCH_UIDS} uids")
        node = parse_node(words[1])
        uids = parse_uids(words[2:])
        gather = Gather(client, len(uids))
        client.pending.append(gather)
        self._dispatch.accept_reads(client, uids, node, now, gather)

    def _finish(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 5:
            raise BadArgument("usage: TASK.FINISH uid node event_id changes")
        uid, node, event_id = parse_uid(words[1]), parse_node(words[2]), parse_event_id(words[3])
        parse_changes(words[4])
        self._dispatch.accept_write(client, FINISH, uid, node, event_id, words[4], now)

    def _clear(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 4:
            raise BadArgument("usage: TASK.CLEAR uid node event_id")
        uid, node, event_id = parse_uid(words[1]), parse_node(words[2]), parse_event_id(words[3])
        self._dispatch.accept_write(client, CLEAR, uid, node, event_id, b"", now)

    def _repair(self, client: Client, words: Words, now: float) -> None:
        """For operators: one row again as it is on the master, in its turn among the writes."""
        if len(words) != 5:
            raise BadArgument("usage: TASK.REPAIR uid node event_id order")
        uid, node, event_id = parse_uid(words[1]), parse_node(words[2]), parse_event_id(words[3])
        parse_repair(words[4])
        self._dispatch.accept_write(client, FINISH, uid, node, event_id, words[4], now, is_repair=True)

    def _any_order(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 1:
            raise BadArgument("usage: TASK.ANYORDER")
        client.begin_any_order()
        client.pending.append(b"+OK\r\n")

    def _passed(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 1:
            raise BadArgument("usage: TASK.PASSED")
        self._dispatch.accept_passed(client)

    def _stats(self, client: Client, words: Words, now: float) -> None:
        client.pending.append(bulk(msgspec.json.encode(stats(self._dispatch, self.connections, now))))

    def _explain(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2:
            raise BadArgument("usage: TASK.EXPLAIN uid")
        client.pending.append(bulk(msgspec.json.encode(explain(self._dispatch, parse_uid(words[1]), now))))

    def _peer(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2:
            raise BadArgument("usage: TASK.PEER name")
        client.peer = parse_node(words[1])
        client.pending.append(b"+OK\r\n")

    def _give(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 3:
            raise BadArgument("usage: TASK.GIVE segment to")
        self._dispatch.takeovers.give(client, words[1].decode(errors="replace"), words[2].decode(errors="replace"))

    def _given(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 3 or not client.peer or not words[2].isdigit():
            raise BadArgument("TASK.GIVEN is what one DBSvr says to another")
        self._dispatch.takeovers.receive(words[1].decode(errors="replace"), int(words[2]))
        client.pending.append(b"+OK\r\n")

    def _mirror(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2 or not client.peer:
            raise BadArgument("TASK.MIRROR is what one DBSvr says to another")
        try:
            part = decode_part(words[1])
        except msgspec.MsgspecError as error:
            raise BadArgument(f"not a part of a mirror: {error}") from error
        mirrors = self._dispatch.takeovers.mirrors
        mirrors.hear(client.peer, part, now)
        client.pending.append(b":%d\r\n" % mirrors.heard)

    def _purges(self, client: Client, words: Words, now: float) -> None:
        blocks = len(words) == 4 and words[2].upper() == b"BLOCK" and words[3].isdigit()
        if not (blocks or len(words) == 2) or not words[1].isdigit():
            raise BadArgument("usage: TASK.PURGES number [BLOCK ms]")
        wait_ms = min(int(words[3]), LONGEST_BLOCK_MS) if blocks else 0
        self._dispatch.purges.wait(client, int(words[1]), now + wait_ms / 1000)

    def _task_config(self, client: Client, words: Words, now: float) -> None:
        options = {words[place].upper(): words[place + 1] for place in range(2, len(words) - 1, 2)}
        is_whole = len(words) >= 2 and len(words) % 2 == 0 and len(options) == len(words) // 2 - 1
        are_numbers = all(word.isdigit() and len(word) < 10 for word in options.values())
        if not is_whole or not options.keys() <= {b"BLOCK", b"USING"} or not are_numbers:
            raise BadArgument("usage: TASK.CONFIG revision [BLOCK ms] [USING revision]")
        wait_ms = min(int(options.get(b"BLOCK", b"0")), LONGEST_BLOCK_MS)
        using = parse_known_revision(options[b"USING"])[0] if b"USING" in options else None
        self._dispatch.bundles.wait(client, parse_known_revision(words[1]), using, now + wait_ms / 1000)

    def _rebuilt(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2:
            raise BadArgument("usage: TASK.REBUILT replica")
        name = words[1].decode(errors="replace")
        replicas = self._dispatch.servers.replicas
        if name not in replicas:
            raise BadArgument(f"no replica named {name!r} (there are: {', '.join(replicas) or 'none'})")
        client.pending.append(b":%d\r\n" % self._dispatch.time.accept_rebuilt(name))

    def _hold(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 4:
            raise BadArgument("usage: TASK.HOLD replica by reason")
        replica, by, reason = (" ".join(word.decode(errors="replace").split()) for word in words[1:])
        if not by or not reason or len(by) > LONGEST_NAME or len(reason) > LONGEST_REASON:
            raise BadArgument(f"who holds it (at most {LONGEST_NAME} characters), and why (at most {LONGEST_REASON})")
        self._dispatch.holds.order(client, replica, by, reason, now)

    def _release(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 3:
            raise BadArgument("usage: TASK.RELEASE replica by")
        replica, by = (word.decode(errors="replace") for word in words[1:])
        self._dispatch.holds.order(client, replica, by[:LONGEST_NAME], None, now)

    # -- what every client of the Redis protocol may say

    def _ping(self, client: Client, words: Words, now: float) -> None:
        client.pending.append(bulk(words[1]) if len(words) > 1 else b"+PONG\r\n")

    def _echo(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2:
            raise BadArgument("usage: ECHO message")
        client.pending.append(bulk(words[1]))

    def _hello(self, client: Client, words: Words, now: float) -> None:
        protocol = words[1] if len(words) > 1 else b"%d" % client.protocol
        if protocol not in (b"2", b"3"):
            client.pending.append(b"-NOPROTO unsupported protocol version\r\n")
            return
        rest = [word.upper() for word in words[2:]]
        if b"AUTH" in rest:
            place = 2 + rest.index(b"AUTH")
            if len(words) < place + 3:
                raise BadArgument("usage: HELLO protocol AUTH user secret")
            self._check_secret(client, words[place + 1], words[place + 2])
        if not client.is_authenticated:
            raise NotAuthenticated("HELLO must be called with AUTH here")
        client.protocol = int(protocol)
        facts: list[bytes | int] = [b"server", b"tasksys", b"version", b"7.0.0", b"proto", client.protocol, b"id", client.client_id]
        facts += [b"mode", b"standalone", b"role", b"master"]
        body = b"".join(b":%d\r\n" % fact if isinstance(fact, int) else bulk(fact) for fact in facts)
        head = b"%%%d\r\n" % (len(facts) // 2 + 1) if client.protocol == 3 else b"*%d\r\n" % (len(facts) + 2)
        client.pending.append(head + body + bulk(b"modules") + b"*0\r\n")

    def _authenticate(self, client: Client, words: Words, now: float) -> None:
        if len(words) not in (2, 3):
            raise BadArgument("usage: AUTH user secret")
        self._check_secret(client, words[1] if len(words) == 3 else b"default", words[-1])
        client.pending.append(b"+OK\r\n")

    def _check_secret(self, client: Client, user: bytes, secret: bytes) -> None:
        if self._auth is None:
            return
        wanted = tuple(word.encode() for word in self._auth)
        # Both compared, in constant time: the answer does not tell which of them was wrong.
        if not (hmac.compare_digest(user, wanted[0]) & hmac.compare_digest(secret, wanted[1])):
            client.is_authenticated = False
            raise NotAuthenticated("wrong user or secret")
        client.is_authenticated = True

    def _client(self, client: Client, words: Words, now: float) -> None:
        what = words[1].upper() if len(words) > 1 else b""
        if what == b"ID":
            client.pending.append(b":%d\r\n" % client.client_id)
        elif what == b"GETNAME":
            client.pending.append(bulk(client.name))
        elif what in (b"SETNAME", b"SETINFO"):
            if what == b"SETNAME" and len(words) == 3:
                client.name = words[2][:64]
            client.pending.append(b"+OK\r\n")
        else:
            client.pending.append(b"-ERR unknown subcommand of CLIENT\r\n")

    def _config(self, client: Client, words: Words, now: float) -> None:
        """redis-benchmark asks for `save` and `appendonly`, and warns when it gets nothing: a setting that we lack is empty."""
        if len(words) < 3 or words[1].upper() != b"GET":
            client.pending.append(b"-ERR unknown subcommand of CONFIG\r\n")
            return
        names = [word[:64] for word in words[2:] if b"*" not in word]
        head = b"%%%d\r\n" % len(names) if client.protocol == 3 else b"*%d\r\n" % (2 * len(names))
        client.pending.append(head + b"".join(bulk(name) + bulk(b"") for name in names))

    def _info(self, client: Client, words: Words, now: float) -> None:
        """Some clients (ioredis) use a connection only after INFO has said that nothing is loading. TASK.STATS has the figures."""
        client.pending.append(bulk(b"# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\n"))

    def _command(self, client: Client, words: Words, now: float) -> None:
        client.pending.append(b"*0\r\n")

    def _select(self, client: Client, words: Words, now: float) -> None:
        if len(words) != 2 or words[1] != b"0":
            raise BadArgument("there is one database, 0")
        client.pending.append(b"+OK\r\n")

    def _quit(self, client: Client, words: Words, now: float) -> None:
        client.pending.append(b"+OK\r\n")
        client.leave()

    _COMMANDS: dict[bytes, Command] = {
        b"TASK.GET": _get,
        b"TASK.MGET": _mget,
        b"TASK.FINISH": _finish,
        b"TASK.CLEAR": _clear,
        b"TASK.REPAIR": _repair,
        b"TASK.ANYORDER": _any_order,
        b"TASK.PASSED": _passed,
        b"TASK.STATS": _stats,
        b"TASK.EXPLAIN": _explain,
        b"TASK.CONFIG": _task_config,
        b"TASK.PURGES": _purges,
        b"TASK.PEER": _peer,
        b"TASK.MIRROR": _mirror,
        b"TASK.GIVE": _give,
        b"TASK.GIVEN": _given,
        b"TASK.REBUILT": _rebuilt,
        b"TASK.HOLD": _hold,
        b"TASK.RELEASE": _release,
        b"PING": _ping,
        b"ECHO": _echo,
        b"HELLO": _hello,
        b"AUTH": _authenticate,
        b"CLIENT": _client,
        b"CONFIG": _config,
        b"INFO": _info,
        b"COMMAND": _command,
        b"SELECT": _select,
        b"QUIT": _quit,
    }

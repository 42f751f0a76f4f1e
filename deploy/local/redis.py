"""A private Redis: broker or cache node, everything it writes inside its own directory, on loopback only.

Nothing is written to disk unless `options` ask for it: a cache node that starts is empty, by design.
"""

from __future__ import annotations

import redis

from deploy.local.server_process import ServerProcess, find_program


class RedisServer(ServerProcess):
    program = "redis-server"

    def install(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def command(self) -> list[str]:
        return [
            find_program(self.program),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.directory),
            "--pidfile",
            str(self.pid_file),
            "--logfile",
            str(self.log),
            "--save",
            "",
            "--daemonize",
            "no",
            *self.options,
        ]

    def is_ready(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def client(self) -> redis.Redis:
        """A connection of the caller's own, with a short deadline and no repeats."""
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return redis.Redis(
            host="127.0.0.1", port=self.port, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0), decode_responses=True
        )

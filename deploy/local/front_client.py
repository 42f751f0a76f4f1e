"""A client of one DBSvr's front, for set-up, checks and the demonstration. It never repeats by itself."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasksys_site.configuration import Instance, read_secret


def front_client(instance: Instance, timeout_s: float = 5.0) -> redis.Redis:
    return redis.Redis(
        host="127.0.0.1" if instance.host == "0.0.0.0" else instance.host,
        port=instance.port,
        username=instance.auth_user or None,
        password=read_secret(instance.auth_secret_file) if instance.auth_secret_file else None,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )

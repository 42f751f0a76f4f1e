"""The other calls of the API: many users at once beside one after another, events beside DbInterface alone."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Iterator
from urllib.parse import unquote

from bench.api_facts import EVENT, FIRST_UID, THREADS_ALONE, USERS
from bench.http_load import Answers, Clients, encode
from bench.measures import Measure

TOGETHER = 100
"""Users of one batch."""
ROUNDS, STRETCH_S = 4, 0.75


def measure_batches(port: int, key: str, attributes: list[str]) -> Iterator[Measure]:
    """One caller, who asks for TOGETHER users at once, or for one after another."""
    headers = {"Authorization": f"Api-Key {key}"}
    places = range(TOGETHER)
    single = [encode("GET", f"/api/v1/users/{FIRST_UID + place}/tasks?attributes={attributes[place]}", headers) for place in places]
    items = [{"uid": FIRST_UID + place, "attributes": json.loads(unquote(attributes[place]))} for place in places]
    batch = [encode("POST", "/api/v1/users:batchGet", headers, json.dumps({"items": items}).encode())]
    ones, many = Answers(), Answers()
    with Clients(port, 1) as clients:
        for _round in range(ROUNDS):
            ones.add(clients.ask(single, STRETCH_S))
            many.add(clients.ask(batch, STRETCH_S))
    what = "users/s by single calls"
    yield Measure(f"users:batchGet of {TOGETHER}, one caller", TOGETHER * many.per_s, "users/s", [ones.per_s], what, bar=10)


def measure_events(port: int, key: str, task: int) -> Iterator[Measure]:
    """As many callers as DbInterface has threads, in turn with them, each in one and the same process."""
    headers = {"Authorization": f"Api-Key {key}"}
    ours = Answers()
    alone_per_s = []
    with Clients(port, THREADS_ALONE) as clients:
        for _round in range(ROUNDS):
            requests = [
                encode(
                    "POST",
                    f"/api/v1/users/{FIRST_UID + place % USERS}/events",
                    headers,
                    json.dumps({"event_id": uuid.uuid4().hex, "type": EVENT}).encode(),
                )
                for place in range(4_000)  # more than are sent in one stretch: an event that is sent twice is not written twice
            ]
            ours.add(clients.ask(requests, STRETCH_S))
            address = f"http://127.0.0.1:{port}/alone?for_s={STRETCH_S}&task={task}"
            with urllib.request.urlopen(address, timeout=60) as answer:
                alone_per_s.append(float(answer.read()))
    what = f"by DbInterface alone, {THREADS_ALONE} threads of the same process"
    yield Measure("POST users/{uid}/events", ours.per_s, "/s", alone_per_s, what, bar=0.6, aim=0.8)
    yield Measure(f"POST users/{{uid}}/events, p99 of {THREADS_ALONE} clients", ours.percentile_ms(0.99), "ms")

"""`python -m deploy.local reference points slow --ms 500`: a running reference server is told to fail, or to be well again."""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping

from deploy.local.pieces import REFERENCE_PATHS, LocalStack

ORDERS: Mapping[str, str] = {
    "show": "what it does wrong, and what it has counted",
    "well": "nothing is wrong any more",
    "slow": "every answer takes --ms longer",
    "dead": "every connection is cut before anything is done",
    "wrong": "a --share of the requests gets 500, and nothing is done",
    "busy": "a --share gets 429 with Retry-After",
    "garbled": "a --share is done, and answered with what is no JSON",
    "lost": "a --share is done, and never answered",
    "twice": "a --share is done two times, as if something on the way had repeated it",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", choices=REFERENCE_PATHS)
    parser.add_argument("order", choices=ORDERS, help="; ".join(f"{order}: {meaning}" for order, meaning in ORDERS.items()))
    parser.add_argument("--ms", type=int, default=500)
    parser.add_argument("--share", type=float, default=1.0, help="of the requests, 0 to 1")


def faults_for(order: str, ms: int, share: float) -> dict[str, object] | None:
    """What is sent to the server; None where it is only looked at."""
    match order:
        case "show":
            return None
        case "well":
            return {}
        case "slow":
            return {"slow_ms": ms}
        case "dead":
            return {"dead": True}
        case "wrong":
            return {"errors": share}
        case _:
            return {order: share}


def give_order(stack: LocalStack, chosen: argparse.Namespace) -> int:
    """Prints what the server does wrong now."""
    port = stack.references.get(chosen.server)
    if port is None:
        print(f"The local stack has no reference server for {chosen.server}: {chosen.server}.url names another system.", file=sys.stderr)
        return 1
    faults = faults_for(chosen.order, chosen.ms, chosen.share)
    body, method = (None, "GET") if faults is None else (json.dumps(faults).encode(), "PUT")
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/faults", body, method=method)
        with urllib.request.urlopen(request, timeout=5) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        print(error.read().decode(), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The reference server does not answer on port {port}: {error}. Start the stack first: make up.", file=sys.stderr)
        return 3
    wrong = {name: value for name, value in answer["faults"].items() if value and name not in ("hold_ms", "retry_after_s")}
    print(f"{chosen.server}: {json.dumps(wrong) if wrong else 'well'}; counted {json.dumps(answer['counts'])}")
    return 0

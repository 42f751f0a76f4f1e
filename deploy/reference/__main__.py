"""`python -m deploy.reference points --port 7501 --database var/reference/points.sqlite [--token-file FILE]`: one reference server."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from deploy.reference.points import PointsApplication
from deploy.reference.profiles import ProfilesApplication
from deploy.reference.server import Application, ReferenceServer, serve_until_told

SERVERS: Mapping[str, Callable[[Path], Application]] = {"points": PointsApplication, "profiles": lambda _: ProfilesApplication()}
"""What each serves, made from where it keeps its data; profiles are made up."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.reference", description=__doc__)
    parser.add_argument("server", choices=SERVERS)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--token-file", type=Path)
    chosen = parser.parse_args()
    token = chosen.token_file.read_text().strip() if chosen.token_file else ""
    serve_until_told(ReferenceServer(SERVERS[chosen.server](chosen.database), chosen.port, token))


if __name__ == "__main__":
    main()

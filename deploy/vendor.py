"""`make vendor`: fetch the scripts that browsers get from us, as unmodified files of their npm packages.

static/vendor/vendored.toml says which package, version and licence, and the SHA-256 of every file. To upgrade, write the new version
there and run this; it fetches the package by `npm pack`, replaces the files and writes their sums. Running the product
needs no npm. With `--check` nothing is fetched: the files that are here are compared with their sums.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"
LIST = VENDOR / "vendored.toml"
HEADING = "# Unmodified files of npm packages. To upgrade: change a version here, then run `make vendor`.\n"


def faults() -> list[str]:
    """What is not as vendored.toml says: a missing file, a changed one, one that stands in no list."""
    found = []
    for name, package in _packages().items():
        listed = package["files"]
        for file, sha256 in listed.items():
            path = VENDOR / name / Path(file).name
            if not path.is_file():
                found.append(f"{path.relative_to(VENDOR)} is missing")
            elif _sha256(path) != sha256:
                found.append(f"{path.relative_to(VENDOR)} is not the file of {name} {package['version']}")
        known = {Path(file).name for file in listed}
        found += [f"{name}/{path.name} is not listed" for path in (VENDOR / name).iterdir() if path.name not in known]
    return found


def fetch() -> None:
    """Replace every listed file by the one in its package, and write the new sums."""
    packages = _packages()
    for name, package in packages.items():
        with tempfile.TemporaryDirectory() as folder:
            packed = subprocess.run(
                ["npm", "pack", "--silent", f"{name}@{package['version']}"], cwd=folder, check=True, capture_output=True, text=True
            )
            with tarfile.open(Path(folder) / packed.stdout.split()[-1]) as archive:
                archive.extractall(folder, filter="data")
            unpacked = Path(folder) / "package"
            about = json.loads((unpacked / "package.json").read_text(encoding="utf-8"))
            if about["license"] != package["licence"]:
                raise SystemExit(
                    f"{name} {about['version']} is under {about['license']}, not {package['licence']}: look at it, then change it here"
                )
            (VENDOR / name).mkdir(parents=True, exist_ok=True)
            for file in package["files"]:
                target = VENDOR / name / Path(file).name
                target.write_bytes((unpacked / file).read_bytes())
                package["files"][file] = _sha256(target)
        print(f"{name} {package['version']}: {len(package['files'])} files")
    LIST.write_text(HEADING + "".join(_section(name, package) for name, package in packages.items()), encoding="utf-8")


def _section(name: str, package: dict[str, Any]) -> str:
    key = name if name.isidentifier() else f'"{name}"'  # @scope/name
    lines = [f"\n[{key}]", f'version = "{package["version"]}"', f'licence = "{package["licence"]}"', f"\n[{key}.files]"]
    lines += [f'"{file}" = "{sha256}"' for file, sha256 in package["files"].items()]
    return "\n".join(lines) + "\n"


def _packages() -> dict[str, dict[str, Any]]:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(faults()) or 0)
    fetch()

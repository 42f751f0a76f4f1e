"""`python -m tests.model [part of a name]`: explores the cases of both models and prints what came of each, with its counterexample.

Exit code 1 when a case did not end as it must.
"""

from __future__ import annotations

import argparse
import sys

from tests.model.cache.cases import CASES as CASES_OF_THE_CACHE
from tests.model.cases import CASES as CASES_OF_THE_PROTOCOL

MODELS = {"protocol": CASES_OF_THE_PROTOCOL, "cache": CASES_OF_THE_CACHE}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="only cases whose name contains this")
    parser.add_argument("--of", choices=MODELS, default="", help="only this model's")
    parser.add_argument("--quick", action="store_true", help="only those of the unit layer")
    chosen = parser.parse_args()
    surprises = 0
    for case in (case for model, cases in MODELS.items() if chosen.of in ("", model) for case in cases):
        if chosen.name.lower() not in case.name.lower() or (chosen.quick and not case.is_quick):
            continue
        print(case.name, flush=True)
        finding = case.explore()
        print(f"  {finding}", flush=True)
        if not finding.ends_as(case.breaks):
            surprises += 1
            print(f"  NOT AS EXPECTED: {f'it must break {case.breaks}' if case.breaks else 'all promises must hold'}", flush=True)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())

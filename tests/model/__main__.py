"""`python -m tests.model [part of a name]`: explores the cases and prints what came of each, with its counterexample.

Exit code 1 when a case did not end as it must.
"""

from __future__ import annotations

import argparse
import sys

from tests.model.cache.cases import CACHE_CASES, CacheCase
from tests.model.cases import CASES, Case
from tests.model.explore import Finding, explore
from tests.model.pair_cases import PAIR_CASES, PairCase


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="only those of the unit layer")
    chosen = parser.parse_args()
    surprises = 0
    for case in (*CASES, *PAIR_CASES, *CACHE_CASES):
        if chosen.name.lower() not in case.name.lower() or (chosen.quick and not case.is_quick):
            continue
        print(case.name, flush=True)
        finding = _explored(case)
        print(f"  {finding}", flush=True)
        if not case.is_met_by(finding):
            surprises += 1
            print(f"  NOT AS EXPECTED: {f'it must break {case.breaks}' if case.breaks else 'all promises must hold'}", flush=True)
    return 1 if surprises else 0


def _explored(case: Case | PairCase | CacheCase) -> Finding:
    return explore(case.scenario, case.rules) if isinstance(case, Case) else case.explore()


if __name__ == "__main__":
    sys.exit(main())

"""How many branches the tests reach, counted alone; an error if they are too few.

    python tools/branch_coverage.py build/coverage.json

The file is the JSON report of coverage.py. Its own limit (`fail_under`) counts lines and branches
together, and most lines are reached by any test at all: branches say more. `make coverage` runs
this, and so does continuous integration.
"""

import json
import sys
from pathlib import Path

FEWEST = 0.95
_LISTED = 10


def main(path):
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    totals = report["totals"]
    covered, number = totals["covered_branches"], totals["num_branches"]
    print(f"branches: {covered:,} of {number:,} ({covered / number:.2%})")
    missing = {name: file["summary"]["missing_branches"] for name, file in report["files"].items()}
    for name in sorted(missing, key=missing.get, reverse=True)[:_LISTED]:
        print(f"  {missing[name]:3d} not reached in {name}")
    if covered < FEWEST * number:
        sys.exit(f"fewer than {FEWEST:.0%} of the branches are reached")


if __name__ == "__main__":
    main(*sys.argv[1:])

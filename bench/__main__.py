"""`python -m bench`: print how memctl compares with its baselines."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench import breakdown, comparisons, world, writers


def main() -> int:
    options = _options()
    started = time.monotonic()
    few = options.quick
    with tempfile.TemporaryDirectory(prefix="memctl-bench-") as name:
        here = world.make(Path(name).resolve())
        print(f"{here.run([world.MEMCTL, '--version']).strip()}, {here.run(['git', '--version']).strip()}", end=", ")
        print(f"Python {sys.version.split()[0]}; medians, each command and its baseline turn by turn", flush=True)
        comparisons.starting(here, 9 if few else 25)
        repository = comparisons.deciding(here, 7 if few else 21)
        comparisons.reading(here, 1_000, warm=5 if few else 11, cold=2 if few else 5)
        if not few:
            comparisons.reading(here, 10_000, warm=11, cold=3)
        if options.large:
            comparisons.reading(here, 100_000, warm=3, cold=1)
        is_good = writers.at_once(here, repository, 1 if few else 3)
        if options.profile:
            breakdown.explain(here, repository, "decide", ("decide", "A decision", "--rationale", "It has to be."))
            for command in ("list", "rehydrate"):
                breakdown.explain(here, here.folder / "memory-1000", command, (command,))
    print(f"\ntook {time.monotonic() - started:.0f} s")
    return 0 if is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and only 1,000 records")
    parser.add_argument("--large", action="store_true", help="100,000 records too; takes several minutes")
    parser.add_argument("--profile", action="store_true", help="say where the time of some commands goes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

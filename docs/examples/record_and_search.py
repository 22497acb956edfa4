"""Record what a script found out, unless it is known already: `python record_and_search.py "what" "why"`."""

import sys

from memctl import MemctlError, Memory


def main(title: str, why: str) -> None:
    with Memory.open(agent="nightly-report") as memory:
        known = [one for one in memory.search(title, types=["learning"], limit=3) if one.title == title]
        if known:
            print(f"known already: {known[0].id}")
            return
        made = memory.learn(title, lesson=why, tags=["report"])
        print(f"{made.id} in commit {made.commit[:10]}" if made.commit else f"{made.id}: commit pending")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except MemctlError as error:
        sys.exit(f"error: {error.with_hint}")

"""Print who has decided what since when, from the memory's history: `python who_decides.py`."""

from collections import Counter

from memctl import Memory


def main() -> None:
    by: Counter[str] = Counter()
    with Memory.open() as memory:
        for entry in reversed(memory.history()):
            if "decide" in entry.operations:
                who = entry.actor or str(entry.commit.author.name)
                by[who] += 1
                print(f"{entry.commit.committed_datetime:%Y-%m-%d} {who}: {', '.join(entry.record_ids)}")
    for who, number in by.most_common():
        print(f"{number:>4} {who}")


if __name__ == "__main__":
    main()

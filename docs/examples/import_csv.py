"""Take issues over from a table with the columns title, severity, description: `python import_csv.py issues.csv`."""

import csv
import sys

from memctl import MemctlError, Memory


def main(path: str) -> int:
    refused = 0
    with Memory.open(agent="import") as memory, open(path, encoding="utf-8-sig", newline="") as file:
        known = {record.title for record in memory.records("issue")}
        rows = csv.DictReader(file)
        if missing := {"title", "severity", "description"} - set(rows.fieldnames or ()):
            print(f"{path}:1: no column {', '.join(sorted(missing))}", file=sys.stderr)
            return 1
        for line, row in enumerate(rows, start=2):
            if row["title"] in known:
                continue
            try:
                made = memory.issue(row["title"], severity=row["severity"] or "medium", description=row["description"])
            except MemctlError as error:
                print(f"{path}:{line}: {error.with_hint}", file=sys.stderr)
                refused += 1
            else:
                known.add(row["title"])
                print(f"{made.id} {row['title']}")
    return 1 if refused else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

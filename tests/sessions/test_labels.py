"""Labelled lines in what agents and people write."""

from __future__ import annotations

from memctl.sessions import labels

TEXT = """I looked around.
DECISION: Use Redis for carts
because they expire.

## DECISION: Adopt PostgreSQL

### Decision
Selected PostgreSQL.

### Rationale
- ACID
- Joins

- **Decision:** tabs
**Next steps:**
1. Write
2. Test
   it

```
DECISION: not this
```
Decisions made:

- [x] alpha
- beta

Blocked by: infra
BUG-12: it fails
Current state of things has no label
⚠️ Gotcha: order matters
"""


def test_every_label_is_read_with_what_belongs_to_it() -> None:
    assert [(one.label, one.text) for one in labels.read(TEXT)] == [
        ("decision", "Use Redis for carts because they expire."),
        ("decision", "Adopt PostgreSQL"),
        ("decision", "Selected PostgreSQL."),
        ("reason", "ACID"),
        ("reason", "Joins"),
        ("decision", "tabs"),
        ("next", "Write"),
        ("next", "Test it"),
        ("decision", "alpha"),
        ("decision", "beta"),
        ("blocker", "infra"),
        ("issue", "BUG-12: it fails Current state of things has no label"),
        ("learning", "order matters"),
    ]

"""Every statement in a `.sql` file can be prepared against the schema; what a migration breaks shows here first."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

SOURCES = Path(__file__).parents[1] / "src" / "lantern"
STATEMENTS = sorted(path for path in SOURCES.rglob("*.sql") if "CREATE" not in path.read_text())


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_a_statement_suits_the_schema(path: Path) -> None:
    with psycopg.ClientCursor(psycopg.connect(os.environ["LANTERN_DATABASE"])) as cursor:
        statement = cursor.mogrify(path.read_text(), {"words": "lampe", "sku": "RF-200", "pieces": 1})
        cursor.execute(f"EXPLAIN {statement}")

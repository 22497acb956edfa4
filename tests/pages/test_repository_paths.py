"""§4 references and globs: which files they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.pages import repository_paths
from tests.conftest import examples

FILES = (
    "README.md", "app.py", "src/services/auth/jwt_handler.py", "src/services/auth/keys.py", "src/services/auth.py",
    "src/services/order/queue.py", "tests/order/queue.py", "web/jest.config.js", "db/schema.sql",
    "db/migrations/0001.sql", "db/migrations/0002.sql", ".env", "deploy/.env", "src/größe.py", "src/a b/c.py",
    "lib/utils.py", "src/utils.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        # with dots, as markers of level 4 may be written; rules.md#levels-of-pages
        ("services.auth.jwt_handler", ["src/services/auth/jwt_handler.py"]),
        ("database.schema", []),
        ("db.schema", ["db/schema.sql"]),
        ("db.migrations.*", ["db/migrations/"]),
        ("db.migrations", ["db/migrations/"]),
        # a whole path, the end of one, with and without the suffix
        ("src/services/auth/keys.py", ["src/services/auth/keys.py"]),
        ("auth/keys.py", ["src/services/auth/keys.py"]),
        ("keys.py", ["src/services/auth/keys.py"]),
        ("keys", ["src/services/auth/keys.py"]),
        ("jest.config", ["web/jest.config.js"]),
        ("jest.config.js", ["web/jest.config.js"]),
        ("db/migrations/", ["db/migrations/"]),
        ("src", ["src/"]),
        ("größe", ["src/größe.py"]),
        ("app", ["app.py"]),
        # a file is nearer than a folder of that name; several mean that it is ambiguous
        ("services.auth", ["src/services/auth.py"]),
        ("order.queue", ["src/services/order/queue.py", "tests/order/queue.py"]),
        ("services.order.queue", ["src/services/order/queue.py"]),
        (".env", [".env"]),
        ("utils", ["lib/utils.py", "src/utils.py"]),
        ("lib.utils", ["lib/utils.py"]),
        # nothing by a part of a name, nothing by nothing
        ("eys", []),
        ("schema.sq", []),
        ("", []),
        ("*", []),
        ("../app.py", []),
        ("APP.py", []),
    ],
)
def test_most_literal_match_of_a_reference_wins(reference: str, found: list[str]) -> None:
    assert list(repository_paths.resolve(frozenset(FILES), reference)) == found


@examples(50)
@given(st.sets(st.sampled_from(FILES), min_size=1), st.data())
def test_whole_path_means_its_file_despite_other_matches(names: set[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(names)))
    assert repository_paths.resolve(frozenset(names), name) == (name,)


@pytest.mark.parametrize(
    ("globs", "found"),
    [
        ([], []),
        (["src/services/auth/**"], ["src/services/auth/jwt_handler.py", "src/services/auth/keys.py"]),
        (["src/services/auth"], ["src/services/auth/jwt_handler.py", "src/services/auth/keys.py"]),
        (["db/**", "!db/migrations/**"], ["db/schema.sql"]),
        (["*.sql"], ["db/migrations/0001.sql", "db/migrations/0002.sql", "db/schema.sql"]),
        (["/*.py"], ["app.py"]),
        (["src/a b/*"], ["src/a b/c.py"]),
        (["src/gr*"], ["src/größe.py"]),
        (["nothing/**"], []),
    ],
)
def test_globs_are_those_of_gitignore(globs: list[str], found: list[str]) -> None:
    assert repository_paths.matching(FILES, globs) == found

"""Records as items of a pack."""

from __future__ import annotations

import os
from pathlib import Path

from memctl.pack import items
from memctl.search import ranking
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl

KEY = f"ghp_{'a1' * 18}"


def body(repo: Path, identifier: str) -> str:
    snapshot = load.disk(open_memory(repo, os.environ))
    return items.of_record(snapshot, snapshot.resolve(identifier), {}).body


def test_credential_added_by_hand_hides_the_text_of_a_record_in_packs(repo: Path, memctl: Memctl) -> None:
    identifier, path = memctl("decide", "Deploy", "--rationale", "Use the token.").out.split()[:2]
    file = repo / path
    text = file.read_text()
    assert "Use the token." in body(repo, identifier)
    file.write_text(text.replace("the token", KEY))
    assert KEY not in body(repo, identifier)
    assert "contains a credential (GitHub token)" in body(repo, identifier)
    file.write_text(text)
    assert "Use the token." in body(repo, identifier)


def test_text_with_a_credential_is_screened_at_every_call(repo: Path) -> None:
    snapshot = load.disk(open_memory(repo, os.environ))
    for _ in range(2):
        assert items.screen(snapshot, "Use the token.") == "Use the token."
        assert KEY not in items.screen(snapshot, f"Use {KEY}.")


def test_page_changed_after_a_search_becomes_an_item_with_its_title_only(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Billing", "--overview", "Zebra invoices are quarterly.")
    memory = open_memory(repo, os.environ)
    snapshot = load.disk(memory)
    [found] = ranking.search(snapshot, "zebra", memory.now)
    page = repo / ".memory" / found.path
    page.write_text(page.read_text().replace("quarterly", "monthly"))
    assert "monthly" in memctl("search", "zebra").out
    item = items.of_result(snapshot, found)
    assert (item.title, item.body) == ("Billing", "")


def test_an_item_names_what_blocks_it_as_long_as_that_is_open(memctl: Memctl) -> None:
    memctl("issue", "Cap the jar", "--next", "Add a cap")
    memctl("issue", "Jar leaks", "--blocks", "ISS-2025-11-04-001")
    blocked = {
        "markdown": "blocked by ISS",
        "xml": 'blocked_by="ISS',
        "yaml": "blocked by ISS",
        "tokens": "blocked by ISS",
    }
    for form, text in blocked.items():
        assert f"{text}-2025-11-04-002" in memctl("rehydrate", "--format", form).out
    memctl("resolve", "ISS-2025-11-04-002")
    assert "blocked" not in memctl("rehydrate").out

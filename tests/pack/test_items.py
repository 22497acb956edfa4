"""Records as items of a pack."""

from __future__ import annotations

from tests.generated import memory


def test_a_record_with_a_credential_keeps_its_title_and_loses_its_text() -> None:
    made = memory(({"title": "Deploy"}, f"## Decision\n\nUse ghp_{'a1' * 18} for it.\n"))
    item = made.item("DEC-2025-11-04-001")
    assert item.title == "Deploy"
    assert "ghp_" not in item.body
    assert "credential" in item.body

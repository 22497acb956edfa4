"""What an agent's reply asks for."""

from __future__ import annotations

import pytest

from memctl.pack.load import Prune, read


@pytest.mark.parametrize(
    ("reply", "load"),
    [
        ("I'll need the specifications. Please load §3.3.2 Payment API Specifications.", ["§3.3.2"]),
        ("load §3.1, §3.2 and DEC-2025-11-04-001.", ["§3.1", "§3.2", "DEC-2025-11-04-001"]),
        ("Load dec-2025-11-04-001", ["DEC-2025-11-04-001"]),
        (
            "- load §4.src/payment/card.py\n- load §4.services.auth.jwt_handler.",
            ["§4.src/payment/card.py", "§4.services.auth.jwt_handler"],
        ),
        ("Load `§4.src/a-b_c/**`, then go on.", ["§4.src/a-b_c/**"]),
        ("load §4..github/workflows/ci.yml", ["§4..github/workflows/ci.yml"]),
        ("Load:\n§2.1\n§2.2", ["§2.1", "§2.2"]),
        ("load §4", ["§4"]),
        ("Please load §9.9, §12.1.3 and §3.", ["§9.9", "§12.1.3", "§3"]),  # what leads nowhere is asked for, too
        ("load §3.1. Then load §3.1 again.", ["§3.1"]),
        ("As §3.1 says, the load is high.", []),
        ("Don't load §3.1.", []),
        ("There is no need to load §3.1; load §3.2.", []),
        ("```\nload §3.1\n```", []),
        ("We download §3.1 and reload §3.2.", []),
        ("load everything", []),
        ("", []),
    ],
)
def test_reply_yields_the_markers_to_load(reply: str, load: list[str]) -> None:
    assert list(read(reply).load) == load


@pytest.mark.parametrize(
    ("reply", "prune"),
    [
        (
            "PRUNE: §4.services.user.old_implementation - Replaced by new version,\nno longer needed.",
            [Prune("§4.services.user.old_implementation", "Replaced by new version,")],
        ),
        ("- **PRUNE:** §4.x-y.py — gone", [Prune("§4.x-y.py", "gone")]),
        ("> PRUNE: `DEC-2025-11-04-001`", [Prune("DEC-2025-11-04-001", "")]),
        ("PRUNE: §3.1: done", [Prune("§3.1", "done")]),
        ("We should PRUNE: §3.1 - x", []),
        ("prune: §3.1 - x", []),
        ("```\nPRUNE: §3.1 - x\n```", []),
    ],
)
def test_reply_yields_the_blocks_to_prune(reply: str, prune: list[Prune]) -> None:
    assert list(read(reply).prune) == prune


@pytest.mark.parametrize(
    ("reply", "paths"),
    [
        ("Please summarize src/big.py first.", ("src/big.py",)),
        ("summarise `§4.db/migration_001.sql`", ("§4.db/migration_001.sql",)),
        ("I'll summarize the results.", ()),
        ("To summarize: it works.", ()),
    ],
)
def test_reply_yields_the_paths_to_summarize(reply: str, paths: tuple[str, ...]) -> None:
    assert read(reply).summarize == paths


def test_more_than_fifty_directives_are_cut_and_counted() -> None:
    asked = read("load " + ", ".join(f"§3.{number}" for number in range(1, 80)))
    assert (len(asked.load), asked.ignored) == (50, 29)


@pytest.mark.parametrize(
    "reply",
    [
        "*" * 300_000,
        "§4." + "a." * 200_000,
        "load " + "- " * 200_000,
        "PRUNE: " + "x" * 300_000,
        "load\n" + " \n" * 20_000,
        "PRUNE: a " + "`" * 50_000 + "x",
        "PRUNE: a" + "," * 50_000 + "x",
        "PRUNE: " + "`*" * 50_000,
    ],
)
def test_hostile_replies_are_read_quickly(reply: str) -> None:
    assert read(reply).ignored == 0

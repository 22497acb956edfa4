"""What a text refers to: ids and § markers, with their lines, and nothing of what is code."""

from __future__ import annotations

import pytest

from memctl.record import mentions


def found(text: str) -> list[str]:
    return [item.text for item in mentions.in_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See DEC-2025-11-04-001.", ["DEC-2025-11-04-001"]),
        ("(ISS-2025-11-04-1000), STA-2025-11-04-002!", ["ISS-2025-11-04-1000", "STA-2025-11-04-002"]),
        ("[the decision](../decisions/2025-11/DEC-2025-11-04-001-x.md)", []),
        ("xDEC-2025-11-04-001 DEC-2025-11-04-01 DEC-2025-13-04-001 dec-2025-11-04-001", []),
        ("§1.0, §2.1 and §3.1.2.", ["§1.0", "§2.1", "§3.1.2"]),
        ("§5.1 § 2.1 §2 $2.1", []),
        ("§4.services.auth.jwt_handler; §4.src/a-b.py.", ["§4.services.auth.jwt_handler", "§4.src/a-b.py"]),
        ("All of §4.src/auth/** and §4.*.sql", ["§4.src/auth/**", "§4.*.sql"]),
        ("[code](§4.gateway.routing)", ["§4.gateway.routing"]),
        ("`§2.1` ``a ` §2.2`` §2.3 ` §2.4", ["§2.3", "§2.4"]),
        ("```\n§2.1\n```\n~~~\nDEC-2025-11-04-001\n~~~\n§2.2", ["§2.2"]),
        ("    an_indented_line_of_code(§2.1)\n\n§2.2", ["§2.2"]),
        ("", []),
    ],
)
def test_references_outside_of_code_are_found(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_references_have_line_numbers() -> None:
    text = "§2.1\n\n```\n§2.2\n```\n§2.3 DEC-2025-11-04-001\n"
    assert [(item.line, item.text) for item in mentions.in_text(text, first_line=10)] == [
        (10, "§2.1"), (15, "§2.3"), (15, "DEC-2025-11-04-001"),
    ]  # fmt: skip

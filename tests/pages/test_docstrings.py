"""What authors say of definitions."""

from __future__ import annotations

import pytest

from memctl.pages.outline import of_definition

PYTHON = '''class Cart:
    """What a customer wants. It is not paid yet."""

    def add(
        self,
        item: Item,  # one
    ) -> None:
        r"""Put an item in,
        or one more of it."""

    def bare(self): return 1

    def dictionary(self):
        'Single.'
'''
SCRIPT = """/** Pays by card. And more.
 * @param x the card
 */
export function pay(x) {}

// Counts items
// one by one.
@decorated
class Counter {}

const plain = () => 1;
/* closed */ let x = 1;
function near() {}
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [(1, "What a customer wants."), (4, "Put an item in, or one more of it."), (11, ""), (13, "Single."), (99, "")],
)
def test_python_definition_has_its_docstring(line: int, expected: str) -> None:
    assert of_definition("py", PYTHON.split("\n"), line) == expected


@pytest.mark.parametrize(
    ("line", "expected"), [(4, "Pays by card."), (9, "Counts items one by one."), (11, ""), (13, ""), (1, "")]
)
def test_typescript_definition_has_the_comment_above_it(line: int, expected: str) -> None:
    assert of_definition("ts", SCRIPT.split("\n"), line) == expected

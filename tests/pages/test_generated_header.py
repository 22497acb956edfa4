"""The head of a document tells whether somebody has edited it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.pages import generated_header

MADE_FROM = "0123456789abcdef"


@given(st.text(), st.sampled_from(["", MADE_FROM]))
def test_sealed_document_is_intact(text: str, made_from: str) -> None:
    document = generated_header.split(generated_header.seal(text, made_from))
    assert document == generated_header.Document(text, made_from, True)


@given(st.text(), st.text(min_size=1), st.data())
def test_any_edit_of_a_sealed_document_is_detected(text: str, inserted: str, data: st.DataObject) -> None:
    whole = generated_header.seal(text)
    start = len(whole) - len(text)
    place = data.draw(st.integers(start, len(whole)))
    edited = generated_header.split(whole[:place] + inserted + whole[place:])
    assert edited is not None
    assert not edited.is_intact


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Mine\n",
        "<!-- Rendered by hand -->\n# Mine\n",
        "\n" + generated_header.seal("# Moved down\n"),
        "<!-- Rendered by memctl text:xyz -->\n",
    ],
)
def test_file_without_the_header_is_not_a_generated_document(text: str) -> None:
    assert generated_header.split(text) is None


def test_document_header_is_one_line_that_says_where_to_edit() -> None:
    head, _, text = generated_header.seal("# Title\n", MADE_FROM).partition("\n")
    assert head.startswith("<!-- ")
    assert head.endswith(" -->")
    assert "the place for edits" in head
    assert text == "# Title\n"
    assert generated_header.seal("a") != generated_header.seal("b")


def test_document_of_format_2_has_no_hash() -> None:
    whole = generated_header.head("# Title\n\nText.\n")
    assert whole.startswith(
        "<!-- Rendered by memctl from the memory, which is the place for edits. layout:7 -->\n\n# T"
    )
    for text in (whole, whole.replace("-->\n\n", "-->\n")):
        assert generated_header.split(text) == generated_header.Document("# Title\n\nText.\n", "", None, 7)
    assert generated_header.is_earlier(generated_header.seal("# Title\n", layout=6), whole)

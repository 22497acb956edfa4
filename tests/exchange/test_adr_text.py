"""The text of architecture decision records: what is read out of it, and that it is put together again as it was."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memctl.exchange import adr_text
from memctl.exchange.adr_status import statement_of, updated_origin
from memctl.exchange.adr_text import KEY, AdrOrigin, moment_of
from memctl.record import frontmatter
from memctl.record.errors import FrontMatterError
from memctl.record.kinds import DECISION
from memctl.record.record import Record
from memctl.text import timestamps
from memctl.write.create import Draft, body_of
from tests.conftest import examples


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("", "accepted"),
        ("Accepted", "accepted"),
        ("**Approved** on 2024-01-01", "accepted"),
        ("~~proposed~~ accepted", "accepted"),
        ("draft", "proposed"),
        ("Declined", "rejected"),
        ("Obsolete", "deprecated"),
        ("Accepted\n\nSuperceded by the new shop", "superseded"),
        ("Amends [3. Rejected parcels](0003-x.md)\n\nAccepted", "accepted"),
        ("brewing", "proposed"),
    ],
)
def test_status_text_is_mapped_to_a_memctl_status(said: str, status: str) -> None:
    origin, body = adr_text.parse_file("0001-a.md", f"# T\n\n## Status\n\n{said}\n")
    statement = statement_of(origin, body)
    assert statement.status == status
    assert statement.unclear == ("brewing" if said == "brewing" else "")


@pytest.mark.parametrize(
    ("file", "line", "title"),
    [
        ("0012-a.md", "# 12. Cache", "Cache"),
        ("0012-a.md", "# ADR-0012: Cache", "Cache"),
        ("adr-012-a.md", "# ADR 12 - Cache", "Cache"),
        ("0012-a.md", "# 0012 Cache #", "Cache"),
        ("0012-a.md", "# 12 angry shops", "12 angry shops"),
        ("0012-a.md", "# 13. Cache", "13. Cache"),
        ("0012-a.md", "# 12.", "12."),
        ("0000-a.md", "# 0. Cache", "Cache"),
    ],
)
def test_the_number_is_split_from_the_title(file: str, line: str, title: str) -> None:
    origin, _ = adr_text.parse_file(file, f"{line}\n")
    head = adr_text.head_of(origin)
    assert head.at(head.title) == title


def taken_apart(text: str) -> tuple[AdrOrigin, str]:
    """A file as a record holds it: written to the record's file and read again."""
    origin, body = adr_text.parse_file("0007-odd.md", text)
    values = {"id": "x", KEY: msgspec.to_builtins(origin)}
    values, body = frontmatter.read(
        frontmatter.compose(values, body_of(Draft(kind=DECISION, values={}, body=body), ()))
    )
    kept = adr_text.read_origin(values)
    assert kept == origin
    return kept, body


def decision(origin: AdrOrigin, body: str) -> Record:
    """The decision that a file becomes, as far as it is written out again."""
    head = adr_text.head_of(origin)
    return Record(
        id="DEC-2025-11-04-001",
        memory_id="019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90",
        memory_type="decision",
        title=" ".join(head.at(head.title).split()),
        status=statement_of(origin, body).status,
        importance=7,
        timestamp=timestamps.parse(head.at(head.date) or "2025-11-04"),
        project_id="shop",
        agent_id="claude",
    )


PIECES = (
    *("## Status", "## Context", "## Decision", "## Consequences", "## Expected impact", "## context ##", "## "),
    *("## Considered Options", "## Decision Outcome", "##  Links", "## Other", "### Sub", "# T", "#"),
    *("Date: 2024-01-01", "* Status: accepted", "  * nested", "**Date:** x", "Technical Story:", "- Key: value"),
    *("Accepted", "Superseded by [x](0002-x.md)", "```", "~~~", "````", "---", "", "", "", "text", "- item", "  "),
    *("<!-- x", "-->", "\\## x", "\ufeff", "\u2028", "\x85", "\x0c", "é", "🎉", "\t", 'a"b\\n', "{a: 1}", "status: x"),
)


FRONTS = (
    *("", "\n\n", "\ufeff", "---\nstatus: accepted\n---\n", "---\n# x\ndate: 2024-01-01\n\n---\n\n"),
    "---\ntitle: 'F'\n---\n",
)
TABLE = "# T\n\n| Status | Draft |\n|---|---|\n| x |"


@examples(100)
@given(
    st.sampled_from(FRONTS),
    st.sampled_from(("# T", TABLE, "# T\n\n**Accepted**", "# 7. T ", "#  T ##", "text\n\n# T")),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_characters="\r", codec="utf-8")))),
    st.sampled_from(("", "\n", "\n\n\n")),
    st.booleans(),
)
@example("", "# T", ["\ufeff", "\n", "## Status"], "", True)
def test_parse_and_format_of_any_file_is_identity(
    front: str, title: str, lines: list[str], end: str, is_crlf: bool
) -> None:
    text = front + "\n".join([title, *lines]) + end
    assume("\0" not in text)
    text = text.replace("\n", "\r\n") if is_crlf else text
    origin, body = taken_apart(text)
    assert adr_text.file_text(origin, body) == text
    assert adr_text.file_text(updated_origin(origin, body, decision(origin, body), [], []), body) == text


@given(st.lists(st.sampled_from(PIECES)))
def test_a_file_has_a_title_or_is_refused_with_a_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    line, title = 1, "x"
    try:
        origin, _ = adr_text.parse_file("0007-odd.md", text)
        head = adr_text.head_of(origin)
        title = head.title_text
    except FrontMatterError as error:
        line = error.line
    assert title.strip()
    assert 1 <= line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "day", "length"),
    [
        ("2024-03-05", "2024-03-05", 10),
        ("2024-03-05 or so", "2024-03-05", 10),
        ("2024/03/05", "2024-03-05", 10),
        ("2024.3.5", "2024-03-05", 8),
        ("5.3.2024 (draft)", "2024-03-05", 8),
        ("5 March 2024", "2024-03-05", 12),
        ("5th Mar. 2024", "2024-03-05", 13),
        ("05-Mar-2024", "2024-03-05", 11),
        ("Sept 5th, 2024", "2024-09-05", 14),
        ("march 5, 2024", "2024-03-05", 13),
        ("3/5/2024", "", 0),
        ("30.2.2024", "", 0),
        ("5 Mai 2024", "", 0),
        ("2024", "", 0),
    ],
)
def test_unambiguous_date_forms_are_read(text: str, day: str, length: int) -> None:
    found, width = moment_of(text)
    assert (found[:10], width) == (day, length)

"""The page of a session: written, read back, merged, kept within its budget."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl.record import session_page
from memctl.record.session_page import CHANGED, READ, SessionPage, TrailRow
from memctl.session import merge, trim
from memctl.store.files import MAX_BYTES
from memctl.text.markdown import inline
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of

WORDS = st.text(st.characters(blacklist_categories=("C",)), min_size=1, max_size=40).map(
    lambda text: inline("x " + text)
)
PATHS = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=30)
ROWS = st.builds(TrailRow, PATHS, st.sampled_from(["created", "modified", "deleted"]), st.just("") | WORDS)
READS = st.builds(TrailRow, PATHS, st.just("read"), st.just("") | WORDS)
PAGES = st.builds(
    lambda rows, reads, decisions, errors: SessionPage(
        {"session_id": "s", "turns": 1},
        {session_page.CHANGED: tuple(rows), session_page.READ: tuple(reads)},
        {
            session_page.INTENT: ("Aim",),
            session_page.DECISIONS: tuple(decisions),
            session_page.STATE: ("Here",),
            session_page.ERRORS: tuple(errors),
        },
    ),
    st.lists(ROWS, max_size=5, unique_by=lambda row: row.path),
    st.lists(READS, max_size=5, unique_by=lambda row: row.path),
    st.lists(WORDS, max_size=5),
    st.lists(WORDS.map(lambda word: f"open: `step`: {word}"), max_size=3),
)


@given(PAGES)
@example(
    SessionPage(
        {"session_id": "s"},
        {CHANGED: (TrailRow("\\|", "created", "x \\\\\\|"), TrailRow("|", "created"), TrailRow("`a|b", "created"))},
    )
)
def test_a_page_that_is_read_back_is_written_the_same(made: SessionPage) -> None:
    text = session_page.render(made)
    again = session_page.parse(text, "sessions/s.md")
    assert session_page.render(again) == text
    assert {row.path for row in again.files.get(session_page.CHANGED, ())} == {
        row.path for row in made.files[session_page.CHANGED]
    }
    assert again.lines.get(session_page.DECISIONS, ()) == made.lines.get(session_page.DECISIONS, ())


@given(PAGES, PAGES)
def test_merging_twice_is_merging_once_and_loses_no_path(old: SessionPage, new: SessionPage) -> None:
    once = merge.merge(old, new)
    assert session_page.render(merge.merge(once, new)) == session_page.render(once)
    paths = {row.path for side in (old, new) for rows in side.files.values() for row in rows}
    assert {row.path for rows in once.files.values() for row in rows} == paths
    assert set(map(merge._key, once.lines[session_page.DECISIONS])) == {
        merge._key(line) for side in (old, new) for line in side.lines[session_page.DECISIONS]
    }


def test_long_page_is_shortened_but_keeps_paths_and_decisions() -> None:
    rows = tuple(TrailRow(f"src/{n}.py", "modified", "something changed here " * 8) for n in range(100))
    errors = tuple(f"resolved: `step {n}`: {'failed badly ' * 30}" for n in range(60))
    made = SessionPage(
        {"session_id": "s"},
        {session_page.CHANGED: rows},
        {session_page.DECISIONS: ("Use Redis",), session_page.ERRORS: errors},
    )
    counter = Counter(family_of("gpt"))
    fitted = trim.fit(made, counter, 1_500)
    page, trail = fitted.texts["sessions/s.md"], fitted.texts["sessions/files/s.md"]
    assert 1_400 < counter.tokens(page) <= 1_500 < counter.tokens(session_page.render(made))
    assert all(f"| `src/{n}.py` | modified | something changed" in trail for n in range(100))
    assert "1. Use Redis" in page


def test_a_list_too_long_to_be_read_back_keeps_its_paths_and_not_its_words() -> None:
    rows = tuple(TrailRow(f"src/{n}.py", "modified", "something changed " * 3) for n in range(30_000))
    fitted = trim.fit(SessionPage({"session_id": "s"}, {CHANGED: rows}), Counter(family_of("gpt")))
    text = fitted.texts["sessions/files/s.md"]
    assert len(text.encode()) < MAX_BYTES
    assert {row.path for row in session_page.parse(text, "sessions/files/s.md").files[CHANGED]} == {
        r.path for r in rows
    }


@pytest.mark.parametrize("count", [0, 1, 79, 80, 500, 5_000])
def test_no_path_is_lost_however_many_there_are(count: int) -> None:
    rows = tuple(
        TrailRow(f"src/part {n % 7}/a_long_name_of_module_{n}.py", "created", "one more") for n in range(count)
    )
    reads = tuple(TrailRow(f"docs/{n}.md", "read") for n in range(count // 2))
    made = SessionPage({"session_id": "s", "files_accessed": count + count // 2}, {CHANGED: rows, READ: reads})
    counter = Counter(family_of("gpt"))
    fitted = trim.fit(made, counter, 2_000)
    assert counter.tokens(fitted.texts["sessions/s.md"]) <= 2_000
    page = session_page.parse(fitted.texts["sessions/s.md"], "sessions/s.md")
    if "sessions/files/s.md" in fitted.texts:
        trail = session_page.parse(fitted.texts[page.trail], page.trail)
        listed = len(page.files[CHANGED])
        assert page.files[CHANGED] == rows[count - listed :]
        assert f"{count + count // 2 - listed:,} more files" in fitted.texts["sessions/s.md"]
        assert listed > 20
        assert session_page.render_trail(trail) == fitted.texts[page.trail]
        page = session_page.with_trail(page, trail)
    assert set(page.files.get(CHANGED, ())) == set(rows)
    assert set(page.files.get(READ, ())) == set(reads)
    assert trim.fit(page, counter, 2_000).texts == fitted.texts

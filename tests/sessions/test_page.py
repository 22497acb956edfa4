"""The page of a session: written, read back, merged, kept within its budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.model.markdown import inline
from memctl.sessions import merging, page
from memctl.sessions.page import Page, Row
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of

WORDS = st.text(min_size=1, max_size=40).map(lambda text: inline("x " + text))
PATHS = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=30)
ROWS = st.builds(Row, PATHS, st.sampled_from(["created", "modified", "deleted"]), st.just("") | WORDS)
READS = st.builds(Row, PATHS, st.just("read"), st.just("") | WORDS)
PAGES = st.builds(
    lambda rows, reads, decisions, errors: Page(
        {"session_id": "s", "turns": 1},
        {page.CHANGED: tuple(rows), page.READ: tuple(reads)},
        {page.INTENT: ("Aim",), page.DECISIONS: tuple(decisions), page.STATE: ("Here",), page.ERRORS: tuple(errors)},
    ),
    st.lists(ROWS, max_size=5, unique_by=lambda row: row.path),
    st.lists(READS, max_size=5, unique_by=lambda row: row.path),
    st.lists(WORDS, max_size=5),
    st.lists(WORDS.map(lambda word: f"open: `step`: {word}"), max_size=3),
)


@given(PAGES)
def test_a_page_that_is_read_back_is_written_the_same(made: Page) -> None:
    text = page.render(made)
    again = page.parse(text, "sessions/s.md")
    assert page.render(again) == text
    assert {row.path for row in again.files.get(page.CHANGED, ())} == {row.path for row in made.files[page.CHANGED]}
    assert again.lines.get(page.DECISIONS, ()) == made.lines[page.DECISIONS]


@given(PAGES, PAGES)
def test_merging_twice_is_merging_once_and_loses_no_path(old: Page, new: Page) -> None:
    once = merging.merge(old, new)
    assert page.render(merging.merge(once, new)) == page.render(once)
    paths = {row.path for side in (old, new) for rows in side.files.values() for row in rows}
    assert {row.path for rows in once.files.values() for row in rows} == paths
    assert set(map(merging._key, once.lines[page.DECISIONS])) == {
        merging._key(line) for side in (old, new) for line in side.lines[page.DECISIONS]
    }


def test_what_is_too_long_is_shortened_but_for_paths_and_decisions() -> None:
    rows = tuple(Row(f"src/{n}.py", "modified", "something changed here " * 8) for n in range(100))
    errors = tuple(f"resolved: `step {n}`: {'failed badly ' * 30}" for n in range(60))
    made = Page({"session_id": "s"}, {page.CHANGED: rows}, {page.DECISIONS: ("Use Redis",), page.ERRORS: errors})
    counter = Counter(family_of("gpt"))
    fitted = merging.fit(made, counter, 3_000)
    text = page.render(fitted)
    assert counter.tokens(text) <= 3_000 < counter.tokens(page.render(made))
    assert all(f"`src/{n}.py`" in text for n in range(100))
    assert "1. Use Redis" in text

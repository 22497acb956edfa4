"""What a new window begins with: whole lines, within its room, and what went is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.text.fit import LIMIT, length
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.messages.content import ContentType, count
from memctl.window.state.bootstrap import fitted

COUNTER = Counter(FAMILIES["claude"])
TEXT = """[Summary of the conversation]

Decisions:
- use a pool of 25

Learned:
- the oldest lesson
- a lesson
- the newest lesson

Next:
- write the test"""


def tokens(text: str) -> int:
    return count(text, ContentType.USER_MESSAGE, COUNTER)


def test_what_fits_stays_as_it_is() -> None:
    assert fitted(TEXT, tokens(TEXT), COUNTER) == TEXT


def test_the_oldest_lesson_goes_first_and_is_counted() -> None:
    without = TEXT.replace("- the oldest lesson\n", "").replace("- a lesson\n", "")
    made = f"{without}\nLEFT OUT: 2 lines that this window has no room for"
    long = TEXT.replace("the oldest lesson", "the oldest lesson" * 50).replace("a lesson", "a lesson" * 50)
    assert fitted(long, tokens(made), COUNTER) == made


def test_a_section_goes_with_its_last_line_and_decisions_stay_longest() -> None:
    made = fitted(TEXT.replace("use a pool of 25", "use a pool of 25 " * 4), 85, COUNTER)
    assert "Learned:" not in made
    assert "- use a pool" in made


def test_where_there_is_no_room_at_all_nothing_is_said() -> None:
    assert fitted(TEXT, 3, COUNTER) == ""


@given(st.lists(st.text(alphabet="ab:- \n#é😀", max_size=200), max_size=40), st.integers(0, 3_000))
def test_whatever_the_text_it_fits(parts: list[str], most: int) -> None:
    text = "\n".join(parts)
    made = fitted(text, most, COUNTER)
    assert made == "" or (tokens(made) <= most and length(made) <= LIMIT)


def test_no_more_characters_than_a_hook_may_print() -> None:
    text = "Learned:\n" + "\n".join(f"- lesson {number} " + "x" * 300 for number in range(200))
    made = fitted(text, 1_000_000, COUNTER)
    assert 9_000 < length(made) <= LIMIT
    assert "lesson 199" in made
    assert "- lesson 0 " not in made

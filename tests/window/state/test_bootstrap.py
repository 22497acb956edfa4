"""The text that a new window begins with: whole lines, within its room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.record.task_state import TaskState
from memctl.task import resume
from memctl.text.fit import LIMIT, length
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.messages.content import ContentType, count
from memctl.window.state.succession import resume_within
from tests.conftest import examples

COUNTER = Counter(FAMILIES["claude"])
STATE = TaskState(
    goal="Make the pool larger", next_actions=("Write the test",), lessons=tuple(f"lesson {n} " * 20 for n in range(60))
)


def tokens(text: str) -> int:
    return count(text, ContentType.USER_MESSAGE, COUNTER)


def test_resume_with_room_is_the_full_text() -> None:
    assert resume_within(STATE, 1_000_000, COUNTER) == resume.write(STATE).text


def test_resume_with_less_room_names_what_it_leaves_out() -> None:
    made = resume_within(STATE, 400, COUNTER)
    assert tokens(made) <= 400
    assert "NEXT:\n- Write the test\n" in made
    assert "LEFT OUT: " in made


def test_resume_text_without_room_is_empty() -> None:
    assert resume_within(STATE, 3, COUNTER) == ""


@given(st.lists(st.text(alphabet="ab:- \n#é😀", min_size=1, max_size=200), max_size=40), st.integers(0, 3_000))
@examples(50)
def test_resume_text_of_any_state_fits_its_limit(lines: list[str], most: int) -> None:
    made = resume_within(TaskState(goal="x", lessons=tuple(lines)), most, COUNTER)
    assert made == "" or (tokens(made) <= most and length(made) <= LIMIT)

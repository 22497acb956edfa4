"""What is written is read back, whatever it says, and a change touches nothing else."""

from __future__ import annotations

import re
import subprocess
from datetime import date, datetime
from typing import Any

import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memctl.git import message
from memctl.record import content_fields, frontmatter, frontmatter_edit, strict_yaml
from memctl.record.change import Change
from memctl.record.errors import FrontMatterError
from memctl.record.kinds import KINDS, Field, Kind
from memctl.record.parser import parse, problems
from memctl.record.record import LISTS, ORDER, TIMES
from memctl.store.commit_message import compose
from memctl.text import headings
from tests.conftest import examples

QUICK = settings(max_examples=2 * settings.default.max_examples)
MORE = settings(max_examples=3 * settings.default.max_examples)
GIT = examples(20)
OPS = (
    *(kind.verb for kind in KINDS.values()),
    *("edit", "resolve", "reopen", "archive", "unarchive", "supersede", "link", "unlink", "delete", "restore"),
    *("import", "init", "commit"),
)

RESERVED = ("no", "on", "Off", "NULL", "null", "~", "true", "y", "010", "1e3", "0x1F", "12:30:45", "1_000", ".inf", "=")
MOMENTS = ("2025-11-04", "2025-11-04T14:32:00Z", "2025-11-04 14:32:00", "2025-99-99T99:99:99Z")
PIECES = (
    *RESERVED,
    *MOMENTS,
    *("", " ", "  ", "\t", "---", "...", ":", ": ", " #", "- ", "? ", "|", ">", "!x", "&a", "*a", "%", "@", "`"),
    *("'", '"', "\\", "\\n", "\\/", "\\ud800", "{", "[", "]", ",", "a: b", "a:b", "key:", "§2.1", "src/x.py:10"),
    *(
        "word",
        "Größe",
        "日本語",
        "😀",
        "\U0010ffff",
        "e\u0301",
        "\u00a0",
        "\u2028",
        "\u2029",
        "\x85",
        "\ufeff",
        "\u200b",
    ),
    *("\x00", "\x01", "\x0b", "\x0c", "\x1b[31m", "\x1c", "\x1f", "\x7f", "\x80", "\ufffe", "\u202e"),
    *("x" * 300, "word " * 60, "Memctl-Op: delete", "Signed-off-by: x", "# comment", "diff --git a/x b/x"),
)
LINES = (
    *("## Decision", "## ", "##", "# Title", "### Deeper", "\\## Context", "\\\\## Context", "## Next actions ##"),
    *("```", "```py", "````", "~~~", "~~~~ x", "  ```", "    ```", "- ```", "``` `", "```\u00a0", "> ```"),
    *("---", "--- ", "===", "<<<<<<< HEAD", "<<<<<<<", "=======", ">>>>>>> theirs", "\\<<<<<<< x", "|||||||"),
    *("- item", "* item", "1. item", "2) item", "- ", "-", "  more", "\tmore", "    code", "- - deep", "+ [ ] task"),
)

words = st.one_of(st.sampled_from(PIECES), st.text(max_size=8))
line_of_text = st.one_of(st.lists(words, max_size=4).map("".join), st.lists(words, max_size=4).map(" ".join))
lines = st.one_of(st.sampled_from(LINES), line_of_text, st.just(""))
raw_texts = st.lists(lines, max_size=8).map("\n".join)
texts = raw_texts.map(frontmatter.clean_newlines)
anything = st.one_of(line_of_text, raw_texts, st.sampled_from(RESERVED + MOMENTS))
keys = st.sampled_from(("title", "tags", "x", "own_key", "dc-title", "X9", "importance", "_", "e1"))
numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(anything, numbers, st.booleans())
nested = st.recursive(
    st.one_of(scalars, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(line_of_text, inner, max_size=3)),
    max_leaves=6,
)
heads = st.dictionaries(keys, st.one_of(scalars, st.lists(scalars, min_size=1, max_size=4)), max_size=6)
moments = st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds") + "Z")
items = st.lists(texts, max_size=4)
values_of: dict[bool, st.SearchStrategy[Any]] = {True: items, False: texts}  # by Field.is_list


def in_conflict(text: str) -> bool:
    """Whether a text has the markers of an unfinished merge, in their order."""
    wanted = ["<", "=", ">"]
    for line in text.split("\n"):
        if (
            wanted
            and line.startswith(wanted[0] * 7)
            and (line[7:8] in ("", " ") and (wanted[0] != "=" or not line[7:]))
        ):
            wanted.pop(0)
    return not wanted


PLAIN = {
    "id": "DEC-2025-11-04-001",
    "memory_id": "019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90",
    "memory_type": "decision",
    "title": "x",
    "status": "accepted",
    "importance": 5,
    "timestamp": "2025-11-04T14:32:00Z",
    "project_id": "shop",
    "agent_id": "claude",
}


def allowed(name: str, values: st.SearchStrategy[Any], is_list: bool = False) -> st.SearchStrategy[Any]:
    """Those of the values that a field may have; each is judged alone, or hardly any record would pass as a whole."""
    return values.filter(lambda value: not problems({**PLAIN, name: [value] if is_list else value}))


titles = allowed("title", anything.map(lambda text: text[:100] or "x"))
tags = st.lists(allowed("tags", line_of_text, is_list=True), max_size=3)
refs = st.lists(
    allowed(
        "code_refs", st.one_of(st.sampled_from(("src/x.py:10", "a b.py", "日本語.md")), line_of_text), is_list=True
    ),
    max_size=3,
)
names = {name: allowed(name, anything) for name in ("project_id", "agent_id")}


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """The values of a valid record and its path, with hostile texts wherever texts may stand."""
    kind = draw(st.sampled_from(tuple(KINDS.values())))
    identifier = f"{kind.prefix}-2025-11-04-001"
    values: dict[str, Any] = {
        "id": identifier,
        "memory_id": "019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90",
        "memory_type": kind.name,
        "title": draw(titles),
        "status": draw(st.sampled_from(kind.statuses)),
        "severity": draw(st.sampled_from((None, "critical", "low"))),
        "completion_percentage": draw(st.one_of(st.none(), st.integers(0, 100))),
        "importance": draw(st.integers(1, 10)),
        "section": draw(st.sampled_from((None, "§2.1", "§4.src/auth.py"))),
        "tags": draw(tags),
        "timestamp": draw(moments),
        "project_id": draw(names["project_id"]),
        "agent_id": draw(names["agent_id"]),
        "expires_at": draw(st.one_of(st.none(), moments)),
        "parent_memory_id": draw(st.one_of(st.none(), st.uuids().map(str))),
        "supersedes": draw(st.lists(st.just(identifier), max_size=2)),
        "code_refs": draw(refs),
        "is_archived": draw(st.booleans()),
        "access_count": draw(st.integers(0, 10**6)),
    }
    assume(not problems(values))
    return values, f"{kind.folder}/2025-11/{identifier}.md"


@QUICK
@given(files(), texts)
def test_a_record_and_its_body_are_read_back(file: tuple[dict[str, Any], str], body: str) -> None:
    values, path = file
    assume(not in_conflict(body) and "\0" not in body)
    record, found = parse(frontmatter.compose({name: values.get(name) for name in ORDER}, body), path)
    plain = {name: value or ([] if name in LISTS else value) for name, value in values.items() if name not in TIMES}
    assert {name: getattr(record, name) for name in plain} == plain
    assert found == body


@QUICK
@given(heads)
def test_both_readers_agree_on_every_canonical_head(values: dict[str, Any]) -> None:
    head = frontmatter.split(frontmatter.compose(values, ""))[0]
    assert strict_yaml.read(head) == values
    assert frontmatter.read_canonical(head) in (None, values)


@QUICK
@given(st.dictionaries(keys, st.one_of(anything, st.integers(-(10**17), 10**17), st.booleans()), max_size=6))
def test_fast_reader_reads_canonical_front_matter(values: dict[str, Any]) -> None:
    """Only rare characters and escapes are left to YAML."""
    plain = {key: "" if isinstance(value, str) and not value.isascii() else value for key, value in values.items()}
    head = frontmatter.split(frontmatter.compose(plain, ""))[0]
    assume("\\ud" not in head and "\\/" not in head)
    assert frontmatter.read_canonical(head) == plain


@QUICK
@given(heads)
@example({"title": "2025-02-31T00:00:00Z"})
def test_other_yaml_readers_agree(values: dict[str, Any]) -> None:
    head = frontmatter.split(frontmatter.compose(values, ""))[0]
    found = yaml.load(head, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    assert {key: _without_times(values.get(key), value) for key, value in found.items()} == values


def _without_times(written: Any, found: Any) -> Any:
    if isinstance(found, list) and isinstance(written, list):
        return [_without_times(one, other) for one, other in zip(written, found, strict=True)]
    if isinstance(found, (date, datetime)) and isinstance(written, str):
        return written
    return found


@QUICK
@given(st.dictionaries(keys, nested, max_size=4))
def test_nested_values_of_other_tools_are_read_back(values: dict[str, Any]) -> None:
    kept = {key: value for key, value in values.items() if value is not None and value != []}
    assert frontmatter.read(frontmatter.compose(values, ""))[0] == kept


HAND_WRITTEN = (
    "# a comment\n",
    "\n",
    "title:   'It''s'   # inline\n",
    'title: "two\n  lines"\n',
    "tags: [a, 'b: c', \"no\"]\n",
    "tags:\n- a\n-   'b'\n",
    "importance:    7\n",
    "status: accepted\n",
    "agent_id: >-\n  folded\n  text\n\n  more\n",
    "note: |\n  # no comment\n  status: no key\n\n  - x\n",
    "x-origin:\n  # inner comment\n  title: inner\n  tags:\n    - deep: {a: [1, 2]}\n",
    "'quoted key': 1\n",
    '"other key" : [\n  a,\n  b\n  ]\n',
    "key with spaces: yes please\n",
    "ключ: значение\n",
    "og:image: cover.png\n",
    "http://example.org/x: 1\n",
    "-odd: 1\n",
    "empty:\n",
)
CHANGES: dict[str, Any] = {
    "title": "New title",
    "tags": ["one", "no"],
    "importance": 3,
    "status": "superseded",
    "is_archived": True,
    "archived_at": "2025-11-04T14:32:00Z",
    "agent_id": "x: #y",
}


def readable(text: str) -> bool:
    try:
        frontmatter.read(text)
    except FrontMatterError:
        return False
    return True


by_hand = st.builds(
    lambda blocks, body: "---\n" + "".join(blocks) + "---\n" + body,
    st.lists(st.sampled_from(HAND_WRITTEN), max_size=8, unique=True),
    texts.filter(lambda text: not in_conflict(text)),
).filter(readable)
canonical_files = st.builds(frontmatter.compose, heads, texts.filter(lambda text: not in_conflict(text))).filter(
    readable
)
any_file = st.one_of(by_hand, canonical_files)


@QUICK
@given(any_file)
def test_replacing_nothing_changes_no_byte(text: str) -> None:
    assert frontmatter_edit.replace(text, {}, ORDER) == text


@QUICK
@given(any_file, st.sampled_from(ORDER))
def test_removing_a_missing_key_changes_no_byte(text: str, key: str) -> None:
    assume(key not in frontmatter.read(text)[0])
    assert frontmatter_edit.replace(text, {key: None}, ORDER) == text


@QUICK
@given(canonical_files)
def test_the_values_that_are_there_change_no_byte_of_a_canonical_file(text: str) -> None:
    assert frontmatter_edit.replace(text, frontmatter.read(text)[0], ORDER) == text


@QUICK
@given(by_hand)
def test_the_values_that_are_there_change_no_byte_of_any_file(text: str) -> None:
    values = {key: value for key, value in frontmatter.read(text)[0].items() if key in ORDER}
    assert frontmatter_edit.replace(text, values, ORDER) == text


@MORE
@given(any_file, st.sampled_from(sorted(CHANGES)), st.booleans())
def test_a_change_of_one_key_leaves_all_others_alone(text: str, key: str, remove: bool) -> None:
    value = None if remove else CHANGES[key]
    new = frontmatter_edit.replace(text, {key: value}, ORDER)
    expected = {**frontmatter.read(text)[0], key: value}
    if remove:
        del expected[key]
    assert frontmatter.read(new) == (expected, frontmatter.read(text)[1])
    assert frontmatter.split(new)[1] == frontmatter.split(text)[1]


@QUICK
@given(st.lists(st.sampled_from(HAND_WRITTEN), max_size=8, unique=True), st.sampled_from(sorted(CHANGES)))
def test_a_change_of_one_key_leaves_every_other_line_as_it_is(blocks: list[str], key: str) -> None:
    text = "---\n" + "".join(blocks) + "---\n"
    assume(readable(text))
    new = frontmatter_edit.replace(text, {key: CHANGES[key]}, ORDER)
    others = "".join(block for block in blocks if not block.startswith(f"{key}:"))
    assert re.sub(rf"^{key}:.*\n(?:  - .*\n)*", "", new, count=1, flags=re.MULTILINE) == f"---\n{others}---\n"


def without_fence(text: str, original: str) -> bool:
    """Whether a text is the original, or that with code or HTML closed that it leaves open."""
    last = text.rpartition("\n")[2]
    closes = set(last) in ({"`"}, {"~"}) or last in ("-->", "?>", "]]>", ">") or last.startswith("</")
    return text == original or (text == f"{original}\n{last}" and closes)


def expected_item(item: str) -> str:
    """An item as it is kept: blanks around the first line and in blank lines go, and empty lines before it."""
    first, *more = item.rstrip("\n").lstrip().split("\n")
    return "\n".join([first.strip(), *(line if line.strip() else "" for line in more)]).rstrip("\n")


@st.composite
def contents(draw: st.DrawFn) -> tuple[Kind, dict[str, str | list[str]]]:
    kind = draw(st.sampled_from(tuple(KINDS.values())))
    return kind, {field.name: draw(values_of[field.is_list]) for field in kind.fields}


def says_something(value: str | list[str]) -> bool:
    return bool(value.strip()) if isinstance(value, str) else any(item.strip() for item in value)


def assert_same(field: Field, found: str | list[str], given_value: str | list[str]) -> None:
    if isinstance(given_value, str):
        assert isinstance(found, str)
        assert without_fence(found, given_value.strip("\n"))
        return
    assert isinstance(found, list)
    wanted = [expected_item(item) for item in given_value if item.strip()]
    assert found[:-1] == wanted[:-1]
    assert without_fence(found[-1], wanted[-1])


@MORE
@given(contents())
@example((KINDS["state"], {"blockers": ["```\n  "]}))
def test_content_fields_are_read_back(given_content: tuple[Kind, dict[str, str | list[str]]]) -> None:
    kind, values = given_content
    fields = {field.name: field for field in kind.fields}
    body = "\n".join(filter(None, (content_fields.compose(fields[name], value) for name, value in values.items())))
    found = content_fields.content(kind, body)
    assert list(found) == [name for name, value in values.items() if says_something(value)]
    assert len(headings.split(body)) == len(found)
    for name in found:
        assert_same(fields[name], found[name], values[name])


@QUICK
@given(contents())
def test_no_content_looks_like_a_conflict(given_content: tuple[Kind, dict[str, Any]]) -> None:
    kind, values = given_content
    body = "\n".join(content_fields.compose(field, values[field.name]) for field in kind.fields)
    assert frontmatter.read(frontmatter.compose({"a": 1}, body))[1] == body


@QUICK
@given(texts)
def test_sections_of_a_body_join_to_the_body(body: str) -> None:
    assert "".join(section.text for section in headings.split(body)) == body


@MORE
@given(contents(), texts, st.data())
def test_a_new_value_changes_no_other_section(
    given_content: tuple[Kind, dict[str, Any]], preamble: str, data: st.DataObject
) -> None:
    kind, values = given_content
    body = preamble + "\n" + "\n".join(content_fields.compose(field, values[field.name]) for field in kind.fields)
    field = data.draw(st.sampled_from(kind.fields))
    value: str | list[str] = data.draw(values_of[field.is_list])
    before = content_fields.content(kind, body)
    new = content_fields.replace(kind, body, field, value)
    after = content_fields.content(kind, new)
    assert {name: text for name, text in after.items() if name != field.name} == {
        name: text for name, text in before.items() if name != field.name
    } or _only_a_fence_closed(before, after, field)
    found = after.get(field.name)
    if found is not None and says_something(value) and before.get(field.name) != value:
        assert_same(field, found, value)
    assert bool(found) == says_something(value) or _stands_twice(kind, body, field)


def _only_a_fence_closed(before: dict[str, Any], after: dict[str, Any], field: Field) -> bool:
    """A section left open at the end may have its fence closed when another goes behind it."""
    changed = [name for name in before if name != field.name and after.get(name) != before[name]]
    if set(after) - {field.name} != set(before) - {field.name} or len(changed) != 1:
        return False
    old, new = before[changed[0]], after[changed[0]]
    return without_fence(new if isinstance(new, str) else new[-1], old if isinstance(old, str) else old[-1])


def _stands_twice(kind: Kind, body: str, field: Field) -> bool:
    names = [section.heading.casefold() for section in headings.split(body)]
    return names.count(field.heading.casefold()) > 1


def git_trailers(text: str) -> list[tuple[str, str]]:
    """The trailers of a message as Git reads them."""
    out = subprocess.run(["git", "interpret-trailers", "--parse"], input=text.encode(), capture_output=True, check=True)
    pairs = (line.partition(": ") for line in out.stdout.decode().split("\n") if line)
    return [(key, value) for key, _, value in pairs]


def one_line(text: str) -> str:
    """A text as a message holds it: in one line, and without control characters."""
    return " ".join("".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else " " for c in text).split())


hostile_line = st.one_of(line_of_text, raw_texts)


@GIT
@given(st.sampled_from(OPS), hostile_line, hostile_line, hostile_line, hostile_line)
def test_a_message_is_read_back_by_git_and_by_us(op: str, title: str, actor: str, session: str, reason: str) -> None:
    text = compose(
        [Change(op=op, title=title, ids=("DEC-2025-11-04-001",), actor=actor, session=session, reason=reason)]
    )
    trailers = message.parse(text)
    ours = [("Memctl-Actor", trailers.actor), ("Memctl-Session", trailers.session), ("Memctl-Reason", trailers.reason)]
    assert trailers.ops == (op,)
    assert trailers.ids == ("DEC-2025-11-04-001",)
    assert [one_line(value) for _, value in ours] == [one_line(actor), one_line(session), one_line(reason)]
    assert git_trailers(text) == [
        ("Memctl-Op", op),
        ("Memctl-Id", "DEC-2025-11-04-001"),
        *((key, value) for key, value in ours if value),
    ]


@QUICK
@given(st.lists(st.tuples(st.sampled_from(OPS), hostile_line, hostile_line), min_size=1, max_size=3))
def test_lines_of_a_message_are_short_where_words_allow(parts: list[tuple[str, str, str]]) -> None:
    text = compose(
        [
            Change(op=op, title=title, ids=(f"DEC-2025-11-04-{n:03d}",), reason=r)
            for n, (op, title, r) in enumerate(parts)
        ]
    )
    subject, blank, *rest = text.split("\n")
    assert len(subject) <= 100
    assert blank == ""
    assert rest[-1] == ""
    assert all(len(line) <= 100 or len(line.removeprefix("Memctl-Reason:").split()) == 1 for line in rest)


@QUICK
@given(st.lists(st.tuples(st.sampled_from(OPS), hostile_line), min_size=2, max_size=4))
def test_a_message_of_several_changes_names_every_operation(parts: list[tuple[str, str]]) -> None:
    changes = [Change(op=op, title=title, ids=(f"DEC-2025-11-04-{n:03d}",)) for n, (op, title) in enumerate(parts)]
    trailers = message.parse(compose(changes))
    assert trailers.ops == tuple(dict.fromkeys(op for op, _ in parts))
    assert trailers.ids == tuple(change.ids[0] for change in changes)

"""Read a conversation in plain text: who speaks, and the tool calls that a copied terminal or a report shows.

A text does not mark its tool calls. Three things count as a tool call, since they name a file or a command exactly: the
line in which an agent's program shows a call (`● Update(src/a.py)`), the text after a shell's prompt (`$ …`), and a
sentence in the past tense about a file (`Created src/a.py`). Other mentions of a file do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event, Session

_SPEAKER = re.compile(
    r"^[ \t]*(?:#{1,4} |\*\*|> ?)?(user|human|you|assistant|ai|claude|agent)(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*",
    re.I | re.M,
)
_ASKING = ("user", "human", "you")
_ASKED = re.compile(
    r"^[>\u276f] (?P<said>\S.*(?:\n {2}[^\s⎿].*)*)", re.M
)  # a prompt, as a terminal that shows calls prints it
_ANSWERED = re.compile(r"^[⏺●✦] ?\S", re.M)
_FILE = r"(?:`[^`\n]+`|\"[^\"\n]+\"|(?:[\w.@~+-]*/)+[\w.@+\[\]-]*\w|[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7})"
_SHOWN = re.compile(r"^\s*(?:[⏺●•✦>*-]\s*)?(?P<tool>[A-Z]\w+)\((?P<given>.+?)\)\s*$")
_MARKED = re.compile(r"^[^\S\n]*[⏺●✦]\s*[A-Z]\w+\(", re.M)
_TYPED = re.compile(r"^\s{0,4}(?:\w*[.@:~/-][\w.@:~/-]{0,60} ?)?\$ (?P<command>[^\s\d].*)$")  # no sum of money
_SAID = {
    "write_file": "wrote|saved",
    "create_file": "created|added",
    "edit_file": "modified|updated|edited|changed|rewrote|refactored|fixed|patched|applied edit to",
    "delete_file": "deleted|removed",
    "read_file": "read|opened|viewed|looked at|looked into",
}
_ACTIVE = re.compile(
    r"(?:^|[.!?:;]\s+|^[ \t]*[-*+\d.)]+[ \t]+|\b(?:I|we|I've|we've|I have|we have|and|then|also|just)\s+)"
    r"(?:(?:then|also|just)\s+)?(?:"
    + "|".join(f"(?P<{tool}>{verbs})" for tool, verbs in _SAID.items())
    + rf")\s+(?:the\s+)?(?:new\s+)?(?:file\s+)?(?P<files>{_FILE}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_FILE})*)",
    re.I | re.M,
)
_PASSIVE = re.compile(
    rf"(?<![\w.@~+/-])(?P<files>{_FILE})\s+(?:was|were|has been|have been|is now)\s+(?:"
    + "|".join(f"(?P<{tool}>{verbs})" for tool, verbs in _SAID.items())
    + r")\b",
    re.I,
)
_RENAMED = re.compile(rf"\b(?:renamed|moved)\s+(?P<source>{_FILE})\s+(?:to|as|into|→|->)\s+(?P<target>{_FILE})", re.I)
# What comes before it in a sentence that does not say it was done.
_DOUBTED = re.compile(r"\b(?:if|whether|unless|until|did|said|nothing|nobody|none|neither|no one)\b", re.I)
_SENTENCE = 200  # characters before it that are looked at
# Endings of files. Other names with a point in them are mostly of code (`self.name`, `np.array`), hosts or versions.
_ENDING = re.compile(
    r"adoc|astro|bash|bat|c|cc|cfg|cjs|clj|cmake|conf|cpp|cs|css|csv|cu|cxx|dart|diff|dockerfile|erl|ex|exs|"
    r"fs|gif|go|gradle|graphql|groovy|h|hcl|hpp|hs|htm|html|ini|ipynb|j2|java|jinja|jpg|js|json|jsonl|jsx|jl|"
    r"kt|kts|less|lua|m|md|mdx|mjs|mk|ml|mli|mod|nix|patch|pdf|php|pl|png|pro|proto|ps1|puml|py|pyi|pyx|r|rb|"
    r"rs|rst|sass|scala|scss|sh|sol|sql|sum|svelte|svg|swift|tex|tf|toml|ts|tsv|tsx|txt|vb|vue|webp|xml|yaml|"
    r"yml|zig",
    re.I,
)
_BARE = re.compile(
    r"readme|license|changelog|makefile|dockerfile|procfile|gemfile|rakefile|jenkinsfile|vagrantfile", re.I
)
_NO_FILES = re.compile(
    r"(?:(?:self|this|cls)\..*|(?:node|next|nuxt|nest|vue|react|angular|ember|express|three|chart|d3|p5|discord)\.js)",
    re.I,
)
_TOOLS = {"Update": "Edit", "List": "ls", "Search": "Grep"}
_PATH_TOOLS = ("Write", "Edit", "MultiEdit", "Read", "NotebookEdit")
_OUTPUT = re.compile(r"^\s*⎿\s*|^\s{4}")
_BLANK, _FENCE = re.compile(r"\s*$"), re.compile(r"\s*```")
_NO_OUTPUT = re.compile(r"(?!\s*⎿|\s{4})")


def read(text: str) -> Session:
    """Return the session in a plain text, such as a copied chat or a copied terminal.

    Who speaks follows from names at the beginnings of lines, or from a terminal's prompt marks. If the text has
    neither, the session has only the tool calls that the text shows.
    """
    turns = [*_turns(text)]
    if not turns:
        return Session("text", tuple(_events(text, 0)) if text.strip() else ())
    events: list[Event] = []
    answers = 0
    for kind, turn_text in turns:
        if not turn_text.strip():
            continue
        if kind == PROMPT:
            events.append(Event(PROMPT, turn_text))
        else:
            answers += 1
            events += _events(turn_text, len(events))
    return Session("text", tuple(events), answers=answers)


def _turns(text: str) -> Iterator[tuple[str, str]]:
    marks = list(_SPEAKER.finditer(text))
    for mark, end in _to_the_next(marks, text):
        spoken = text[mark.end() : end].strip("\n")
        if mark[1].lower() not in _ASKING:
            yield ANSWER, spoken
            continue
        shown = _MARKED.search(spoken)  # an agent is at work by then, though nobody says so
        until = shown.start() if shown else len(spoken)
        yield PROMPT, spoken[:until].strip("\n")
        yield ANSWER, spoken[until:]
    if marks or not _ANSWERED.search(text):
        return
    prompts = list(_ASKED.finditer(text))
    for mark, end in _to_the_next(prompts, text):
        yield PROMPT, mark["said"]
        yield ANSWER, text[mark.end() : end].strip("\n")


def _to_the_next(marks: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    for mark, following in zip_longest(marks, marks[1:]):
        yield mark, following.start() if following else len(text)


class _Call(msgspec.Struct, frozen=True):
    """A tool call, its offset in the text, and the part of its result that the text shows (None: no result)."""

    offset: int
    tool: str
    arguments: dict[str, Any]
    result: str | None = None


def _events(text: str, before: int) -> Iterator[Event]:
    yield Event(ANSWER, text)
    calls = sorted([*_calls_in(text.split("\n")), *_accounted(text)], key=lambda call: call.offset)
    for number, call in enumerate(calls, start=before):
        identifier = f"text-{number}" if call.result is not None else ""
        yield Event(CALL, tool=call.tool, arguments=call.arguments, call=identifier)
        if call.result is not None:
            yield Event(RESULT, call.result, call=identifier)


def _calls_in(lines: list[str]) -> Iterator[_Call]:
    offset = 0
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        if typed := _TYPED.match(line):
            until = _FENCE if fenced else _BLANK
            yield _Call(offset, "bash", {"command": typed["command"].strip()}, _below(lines, number + 1, until))
        elif _MARKED.match(line) and (call := _SHOWN.match(line)):
            tool = _TOOLS.get(call["tool"], call["tool"])
            key = "command" if tool == "Bash" else "file_path" if tool in _PATH_TOOLS else ""
            if key:
                value = call["given"].removeprefix(f"{key}: ").strip("\"'") if tool != "Bash" else call["given"]
                yield _Call(offset, tool, {key: value}, _below(lines, number + 1, _NO_OUTPUT))
        offset += len(line) + 1


def _below(lines: list[str], start: int, until: re.Pattern[str]) -> str | None:
    end = start
    while end < len(lines) and not any(sign.match(lines[end]) for sign in (until, _TYPED, _MARKED)):
        end += 1
    return "\n".join(_OUTPUT.sub("", line) for line in lines[start:end]) if end > start else None


def _accounted(text: str) -> Iterator[_Call]:
    for match in (*_ACTIVE.finditer(text), *_PASSIVE.finditer(text)):
        tool = next(tool for tool in _SAID if match[tool])
        for path in re.findall(_FILE, match["files"]):
            if _is_path(path) and not _is_doubted(text, match.start()):
                yield _Call(match.start(), tool, {"path": path.strip('`"')})
    for match in _RENAMED.finditer(text):
        source, target = (match[name].strip('`"') for name in ("source", "target"))
        if _is_path(source) and _is_path(target) and not _is_doubted(text, match.start()):
            yield _Call(match.start(), "move_file", {"source": source, "destination": target})


def _is_doubted(text: str, offset: int) -> bool:
    """A sentence may say before an offset that what follows was perhaps not done, or not here."""
    before = re.split(r"[.!?]\s|\n", text[max(offset - _SENTENCE, 0) : offset])
    return _DOUBTED.search(before[-1]) is not None


def _is_path(text: str) -> bool:
    """A word in quotes, or one such as `client/server`, is not certainly a path."""
    name = text.strip('`"')
    folder, _, last = name.rpartition("/")
    ending = last.rpartition(".")[2] if "." in last else ""
    if " " in name or "://" in name or _NO_FILES.fullmatch(name):
        return False
    if _BARE.fullmatch(last) or _ENDING.fullmatch(ending):
        return True
    return bool(folder) and re.fullmatch(r"[a-z]\w{0,7}", ending) is not None

"""Split shell text into simple commands with their words, redirections and here-documents.

Nothing is run, and nothing on the disk is read. A word that depends on an unknown variable or on the output of a
command is left out and counted as unknown.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import product

from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import NamedTuple

_MOST = 256 * 1024  # characters of a command that are parsed
_MOST_WORDS = 200  # that one word with variables or braces may expand to
_TOKEN = lazy_regex(
    r"""(?P<space>(?:[ \t]|\\\n)+)
    |(?P<comment>\#[^\n]*)
    |(?P<redirect>\d*(?:<<<|<<-?|<>|<&|>>|>\||>&|[<>])|&>>|&>)
    |(?P<operator>\n|;;|&&|\|\||\|&|[;&|()])
    |(?P<word>(?:\$?'(?:[^'\\]|\\.)*'|'[^']*'|"(?:[^"\\]|\\.)*"|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`
        |\\.|[^\s;&|()<>'"\\`])+)
    |(?P<odd>.)""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = lazy_regex(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>[^'"\\]+)|(?P<odd>.)""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = lazy_regex(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ESCAPED = lazy_regex(r'\\(["\\$`])')
# A message in a here-document, as agents write it: quotes in it are plain text, which the word pattern would misread.
_MESSAGE = lazy_regex(r"""\"\$\(cat <<-?[ ]?['"]?(\w+)['"]?\n""")
_MESSAGE_END = lazy_regex(r"""\n[ \t]*(\w+)(?=(\n[ \t]*\)\"))""")
_REPLACEMENT = '"$(cat)"'
_VARIABLE = lazy_regex(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_BRACES = lazy_regex(r"\{([^{}$,]*,[^{}$]*)\}")
_LITERAL = {"$": "\ue000", "`": "\ue001", "{": "\ue002", "*": "\ue003", "?": "\ue004", "~": "\ue005"}
_SIGNS = "".join(_LITERAL)
_RESTORED = {ord(mark): sign for sign, mark in _LITERAL.items()}
_QUOTES = frozenset("'\"\\")
SHELLS = ("bash", "sh", "zsh", "dash")
_RUNS_TEXT = lazy_regex("-[a-z]*c")
_KEYWORDS = ("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time")


def _without_messages(text: str) -> str:
    """Replace each message that a command gives in a here-document, `"$(cat <<EOF … EOF)"`, in one pass."""
    parts, done = [], 0
    ends = list(_MESSAGE_END.finditer(text)) if "<<" in text else []
    waiting: dict[str, deque[re.Match[str]]] = {}
    for end in ends:
        waiting.setdefault(end[1], deque()).append(end)
    for begin in _MESSAGE.finditer(text) if ends else ():
        names = waiting.get(begin[1], deque())
        while names and names[0].start() < begin.end():
            names.popleft()
        if names and begin.start() >= done:
            parts += [text[done : begin.start()], _REPLACEMENT]
            done = names[0].end(2)
    return "".join([*parts, text[done:]])


class ShellCommand(NamedTuple):
    """A simple command of the shell.

    - `words` are its words after expansion of variables and quotes.
    - `redirects` are pairs of an operator and a target, such as (">", "out.txt").
    - `document` is the text of its here-document, "" if it has none.
    - `unknown` counts the words that can't be known without running the text.
    - `text` is the command as written, without the here-document.
    - `operator` stands before the command: "&&", "||", ";", "|" or another; it is "" before the first command.
    """

    words: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()
    document: str = ""
    unknown: int = 0
    text: str = ""
    operator: str = ""


def commands(text: str) -> Iterator[ShellCommand]:
    """Yield the simple commands of a shell text, in their order."""
    reader = _ShellReader(text[:_MOST])
    yield from reader.commands()


def inner_text(command: ShellCommand) -> str:
    """Return the shell text that a command has another shell run, as `sh -c '…'` and `wsl -e sh -c '…'` do; or ""."""
    words = command.words
    if words and words[0].removesuffix(".exe") == "wsl":
        place = next((number for number, word in enumerate(words) if word in ("-e", "--exec", "--")), 0)
        words = words[place + 1 :]
    if not words or words[0].rpartition("/")[2] not in SHELLS:
        return " ".join(words) if words is not command.words else ""
    place = next((number for number, word in enumerate(words[:-1]) if _RUNS_TEXT.fullmatch(word)), 0)
    return words[place + 1] if place else ""


def all_commands(text: str) -> Iterator[ShellCommand]:
    """Yield the simple commands of a shell text, in their order, with those that its commands have other shells run."""
    for command in commands(text):
        inner = inner_text(command)
        yield from all_commands(inner) if inner and len(inner) < len(text) else [command]


class _ShellReader:
    def __init__(self, text: str) -> None:
        self._text = _without_messages(text)
        self._variables: dict[str, list[str]] = {}
        self._before = ""  # the operator before the command
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._words: list[str] = []
        self._redirects: list[tuple[str, str]] = []
        self._operator = ""
        self._document = ""
        self._unknown = 0
        self._written = ""

    def commands(self) -> Iterator[ShellCommand]:
        place = start = 0
        while (match := _TOKEN.match(self._text, place)) is not None:
            place = match.end()
            kind, token = str(match.lastgroup), match[0]
            if kind in ("word", "redirect"):
                start = start if self._written else match.start()
                self._written = self._text[start:place]
            if kind == "word":
                self._take(token, place)
            elif kind == "redirect":
                self._operator = token.lstrip("0123456789")
            elif kind == "operator":
                is_begun = bool(self._written)
                yield from self._command()
                if is_begun or token not in "\n(":  # which may follow an operator
                    self._before = token
        yield from self._command()

    def _take(self, token: str, place: int) -> None:
        operator, self._operator = self._operator, ""
        if operator.startswith("<<") and operator != "<<<":
            self._cut_document(_unquoted(token).translate(_RESTORED), place)
            return
        if not operator and not self._words and "=" in token and (match := _ASSIGNMENT.fullmatch(token)):
            self._variables[match[1]] = list(self._expanded(match[2]))
            return
        words = list(self._expanded(token))
        if operator:
            self._redirects += [(operator, word) for word in words]
        else:
            self._words += words

    def _cut_document(self, end: str, place: int) -> None:
        """Move the here-document that starts after the line of `place` from the text to the command's document."""
        start = self._text.find("\n", place) + 1 or len(self._text)
        match = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.M).search(self._text, start)
        stop = match.start() if match else len(self._text)
        self._document += self._text[start:stop]
        self._text = self._text[:start] + self._text[match.end() + 1 if match else stop :]

    def _command(self) -> Iterator[ShellCommand]:
        words = self._words
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            self._variables[words[1]] = words[3:]
            words = []
        if words or self._redirects:
            written = self._written.replace(_REPLACEMENT, '"…"')
            redirects = tuple(self._redirects)
            yield ShellCommand(tuple(words), redirects, self._document, self._unknown, written, self._before)
        self._start_afresh()

    def _expanded(self, token: str) -> Iterator[str]:
        """Yield the words that a token expands to, by braces and by variables set earlier in the text."""
        text = _unquoted(token)
        names = list(dict.fromkeys(match[1] or match[2] for match in _VARIABLE.finditer(text)) if "$" in text else ())
        known = [self._variables.get(name, []) for name in names]
        for count, values in enumerate(product(*known)):
            if count >= _MOST_WORDS:
                return
            by_name = {name: _plain(value, _SIGNS) for name, value in zip(names, values, strict=True)}
            filled = text
            if names:
                filled = _VARIABLE.sub(lambda match, by_name=by_name: by_name[match[1] or match[2]], text)  # type: ignore[misc]
            for word in _braces(filled):
                if "$" in word or "`" in word:
                    self._unknown += 1
                else:
                    yield word.translate(_RESTORED)
        if not all(known):
            self._unknown += 1


def _unquoted(token: str) -> str:
    """Return a token without its quotes; quoted special characters are replaced by placeholders of `_LITERAL`."""
    if not _QUOTES.intersection(token):
        return token
    parts: list[str] = []
    for match in _PIECE.finditer(token):
        if match.lastgroup == "single":
            parts.append(_plain(match["single"], _SIGNS))
        elif match.lastgroup == "double":
            parts.append(_plain(_ESCAPED.sub(lambda m: _LITERAL.get(m[1], m[1]), match["double"]), "{*?~"))
        elif match.lastgroup == "escaped":
            parts.append(_plain(match["escaped"], _SIGNS) if match["escaped"] != "\n" else "")
        else:
            parts.append(match[0])
    return "".join(parts)


def _plain(text: str, signs: str) -> str:
    return "".join(_LITERAL[character] if character in signs else character for character in text)


def _braces(text: str) -> Iterator[str]:
    match = _BRACES.search(text) if "{" in text else None
    if match is None:
        yield text
        return
    for choice in match[1].split(",")[:_MOST_WORDS]:
        yield from _braces(text[: match.start()] + choice + text[match.end() :])

"""Find credentials in a text, and redact them.

Only the parts of a text that may have a credential are searched; `windows` yields these parts. Each rule has a list of
words, and is tried only in parts that contain one of its words. The search runs on a copy of the text in ASCII
(`folding`).

Private keys and signed tokens have several lines or are longer than such a part, so they are found separately.
"""

from __future__ import annotations

import re
import string
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import memctl.text.credentials.rules as rules
import memctl.text.credentials.stated as stated
import memctl.text.credentials.values as values
import memctl.text.credentials.windows as windows
from memctl.text.credentials.folding import fold
from memctl.text.credentials.rules import CredentialRule
from memctl.text.lazy_regex import lazy_regex

_KEYS = ("PRIVATE KEY", "PuTTY-User-Key-File")  # blocks whose patterns match the first line only
_LONGEST = 16_000  # characters of a key at most; one of 16,384 bits has 12,800
_AROUND = 60  # characters at most before and after these words in the first line of a private key
_FEWEST = 16  # characters of a line of a key, except the last


def _shapes(flat: str, rule: CredentialRule) -> Iterator[tuple[int, int]]:
    """Yield the matches of a rule's pattern; it is tried only around the rule's word, which is ten times as fast."""
    word = rule.words[0]
    place, done = flat.find(word), 0
    while place >= 0:
        if word == _KEYS[0]:  # its line begins before it
            match = rule.pattern.search(flat, max(done, place - _AROUND), place + _AROUND)
        else:
            match = rule.pattern.match(flat, place)
        if match:
            yield match.span()
            done = match.end()
        place = flat.find(word, max(done, place + 1))


_END_OF_KEY = lazy_regex(r"-{4,5} ?END [A-Z0-9 ]{0,40}KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]{20,64}")
# A line of a key, also in a quotation, a diff or JSON.
_KEY_LINE = lazy_regex(
    r"(?:\\[nrt\\]|[\s\"'`>|,;+*#\\]){0,40}"
    r"((?:Proc-Type|DEK-Info|Comment|Version|Encryption|Public-Lines|Private-Lines|Key-Derivation|Argon2-[A-Za-z]+)"
    r":[^\n\\]{0,200}|[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]{1,15}={0,2}(?=[^\w+/=]|$))"
)
_IN_EVERY_KEY = lazy_regex(rf"[A-Za-z0-9+/=]{{{_FEWEST}}}")


def _private_keys(flat: str, rule: CredentialRule) -> Iterator[tuple[int, int]]:
    """Yield the start and end of private keys: up to their last line, or as far as lines of a key follow."""
    begins = list(_shapes(flat, rule))
    for number, (start, body) in enumerate(begins, 1):
        limit = min(begins[number][0] if number < len(begins) else len(flat), body + _LONGEST)
        last = _END_OF_KEY.search(flat, body, limit)
        end = last.end() if last else _end_of_lines(flat, body, limit)
        if rule.words[0] == _KEYS[0] and _IN_EVERY_KEY.search(flat, body, last.start() if last else end) is None:
            continue  # a text about keys that only quotes the first line
        mark = flat.find("\0", start, end)
        yield start, end if mark < 0 else mark


def _end_of_lines(flat: str, start: int, limit: int) -> int:
    """Return the end of the last line of a key after `start`; a short line is the last one."""
    end = start
    while match := _KEY_LINE.match(flat, end, limit):
        if len(match[1]) < _FEWEST and (end == start or match[1].islower()):
            break  # a word: the text only quotes a key's first line, or the key is incomplete
        end = match.end()
        if len(match[1]) < _FEWEST:
            break
    return end


GIVEN = "given"  # the rule of a secret that the user named
RANDOM = "random word"  # the rule for words that look random, which only a strict search has
STATED = "stated secret"  # the rule for secrets that sentences state, which only a strict search has, too
MARK = "[redacted: {}]"
_MARKS = ("[redacted: ", "[blanked: ")  # the second is the mark of earlier versions
_MOST_JUDGED = 5_000  # candidates; a text with more was written by no person, so further ones count without a check
_LONGEST_ESCAPE = 20  # characters of an escape that may precede a token
_LONG_PREFIX = 4  # characters of a token's prefix from which on it counts even behind a letter
_TAIL = 200  # characters at most by which a token may be longer than its shape
_MOST_SHOWN, _SHOWN_OF = 4, 5  # characters shown of a credential: one in five, at most four
_NUMBER, _START = "I", 4  # a type of `array`, and its size in bytes
_IDENTIFIER = f"{string.ascii_letters}{string.digits}_-."
_LONG_WORD = lazy_regex(r"[\w.:|/+=-]{24,}", re.ASCII)
_FINGERPRINT = 8  # bytes: too few to find a password by them alone, enough that no two values of a project are equal
_AROUND_VALUE = " \t\n\"'`.,;:!?)(<>"  # what may surround a value in a sentence
_PASSES = 8  # of `redact`, since a mark can make another credential visible


class Span(NamedTuple):
    """A credential in a text: the offsets of its `start` and `end`, and the name of the rule that found it."""

    start: int
    end: int
    rule: str


def find(text: str, *, strict: bool = False) -> list[Span]:
    """Return the credentials in a text, in their order; none overlaps another.

    With `strict`, every word that looks like a random key counts as a credential, and so does what a sentence calls a
    passphrase, PIN, code or the like. That is meant for text that nobody reads before it is committed, since it also
    finds words that are no credentials.
    """
    flat, offsets = _flat(text)
    places = list(_by_rules(flat))
    if strict:
        last = len(rules.table())
        places += [(start, end, last) for start, end in values.random_words(flat)]
        places += [(start, end, last + 1) for start, end in stated.stated_secrets(flat)]
    merged = _merge(flat, places) if places else []
    return [Span(offsets[start], offsets[end - 1] + 1, rule) for start, end, rule in merged]


@lru_cache(maxsize=8)  # it is called for a new record twice: for the check, and for the cache
def is_in(text: str) -> bool:
    """Return whether a text has a credential; the search stops at the first one."""
    flat, _ = _flat(text)
    return any(start < end and "\0" not in flat[start:end] for start, end, _ in _by_rules(flat))


def redact(text: str, *, strict: bool = True) -> str:
    """Return a text with a mark such as `[redacted: GitHub token]` in place of each credential.

    Marks that are in the text already are left as they are. With `strict`, every word that looks like a random key
    counts as a credential.
    """
    for _ in range(_PASSES):
        spans = find(text, strict=strict)
        if not spans:
            break
        ends = [0, *(span.end for span in spans)]
        parts = [f"{text[end : span.start]}{MARK.format(span.rule)}" for end, span in zip(ends, spans, strict=False)]
        text = "".join(parts) + text[ends[-1] :]
    return text


def describe(text: str, span: Span) -> str:
    """Return a phrase about a credential for a message: `looks like a credential (GitHub token, ghp_…)`.

    The phrase shows the first fifth of the credential, but at most 4 characters.
    """
    shown = text[span.start : span.start + min(_MOST_SHOWN, (span.end - span.start) // _SHOWN_OF)]
    return f"looks like a credential ({span.rule}, {shown}…)"


def fingerprint(text: str, span: Span) -> str:
    """Return a short hash of a credential, by which a user can allow this value (`Memory.allowed_secrets`).

    Quotes and the end of a sentence around the value do not count.
    """
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

    value = text[span.start : span.end].strip(_AROUND_VALUE)
    return blake2b(value.encode(errors="replace"), digest_size=_FINGERPRINT).hexdigest()


def lines(text: str, spans: Iterable[Span]) -> Iterator[int]:
    """Yield for each credential in `spans` the number of the text's line in which it begins, counted from 1."""
    number = 1
    done = 0
    for span in spans:
        number += text.count("\n", done, span.start)
        done = span.start
        yield number


def _flat(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in ASCII, with NUL characters in place of the marks of earlier redactions, and `fold`'s places."""
    flat, places = fold(text)
    if any(mark in flat for mark in _MARKS):
        flat = mark_pattern().sub(lambda match: "\0" * len(match[0]), flat)
    return flat, places


@cache
def mark_pattern() -> re.Pattern[str]:
    """Return the pattern of the marks that replace credentials: `[redacted: RULE]` with the name of a rule.

    Names of rules that earlier versions of memctl had are included. Brackets with any other name do not match, since
    somebody may have written a secret there.
    """
    names = {RANDOM, STATED, GIVEN, *(rule.name for rule in rules.table())}
    new = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"\\?\[(?:redacted: (?:{new})|blanked: [A-Za-z]{{2,12}}(?: [A-Za-z]{{2,12}}){{0,5}})\\?\]")


def _by_rules(flat: str) -> Iterator[tuple[int, int, int]]:
    lower = flat.lower()
    block_rules: dict[int, CredentialRule] = {}
    judged = in_prose = 0
    for start, end in windows.windows(flat, lower):
        for rule in _rules_for(flat[start:end], lower[start:end]):
            if rule.kind == rules.BLOCK:
                block_rules[rule.place] = rule
                continue
            # The value of these kinds is a word behind another word, which need not look like a secret.
            is_prose = rule.kind in (rules.PROSE, rules.WORD, rules.SETTING)
            if is_prose and in_prose > _MOST_JUDGED:
                continue  # a text with so many such words is about passwords and contains none
            source, place = flat if rule.has_case else lower, start
            while match := rule.pattern.search(source, place, end):
                judged, in_prose = judged + (not is_prose), in_prose + is_prose
                span = _span(flat, rule, match, is_prose or judged <= _MOST_JUDGED)
                if span:
                    yield (*span, rule.place)
                # A rejected value may itself be the name of the next one: `password: "password": "..."`.
                is_over = span or not match.lastindex
                place = max(match.end() if is_over else match.start(match.lastindex or 0), match.start() + 1)
    for rule in block_rules.values():
        look = _private_keys if rule.words[0] in _KEYS else _shapes
        yield from ((*span, rule.place) for span in look(flat, rule))


def _rules_for(part: str, lower: str) -> list[CredentialRule]:
    """Return the rules with a word that occurs in a part of a text; `lower` is that part in lower case."""
    by_start, short, capitals = _by_word()
    rules: dict[int, CredentialRule] = {}
    data = lower.encode("ascii")
    for offset in range(_START):  # pieces of 4 bytes as numbers: looking them up is ten times as fast as with texts
        end = len(data) - (len(data) - offset) % _START
        for start in by_start.keys() & set(array(_NUMBER, data[offset:end])):
            rules |= {rule.place: rule for word, rule in by_start[start] if word in (part if rule.has_case else lower)}
    for has_case, words in short.items():
        text = part if has_case else lower
        for word, word_rules in words.items():
            if word in text:
                rules |= word_rules
    if any(not match[0].islower() for match in _LONG_WORD.finditer(part)):
        rules |= capitals
    return list(rules.values())


@cache
def _by_word() -> tuple[
    dict[int, list[tuple[str, CredentialRule]]],
    dict[bool, dict[str, dict[int, CredentialRule]]],
    dict[int, CredentialRule],
]:
    """Return three tables of rules: by the first four letters of a word (in lower case, as a number); by shorter words,
    with or without regard to case; and the rules for any long word with a capital."""
    by_start: dict[int, list[tuple[str, CredentialRule]]] = {}
    short: dict[bool, dict[str, dict[int, CredentialRule]]] = {True: {}, False: {}}
    capitals: dict[int, CredentialRule] = {}
    for rule in rules.table():
        for word in rule.words:
            if word == rules.CAPITAL_WORD:
                capitals[rule.place] = rule
            elif len(word) < _START:
                short[rule.has_case].setdefault(word, {})[rule.place] = rule
            else:
                start = array(_NUMBER, word[:_START].lower().encode("ascii"))[0]
                by_start.setdefault(start, []).append((word, rule))
    return by_start, short, capitals


_JUDGES: dict[str, Callable[[str, bool], bool]] = {
    "key": values.is_key,
    "password": values.is_password,
    "prose": values.is_in_prose,
    "random": values.is_random_value,
    "header": values.is_in_header,
    "any": lambda value, quoted: not values.is_placeholder(value),
    "variable": values.is_literal,
    "word": values.is_word,
    "setting": values.is_setting,
}


# The end of a name, such as `_FILE`, that shows that its value is not the secret.
_OTHER_VALUE = lazy_regex(
    r".*(?:id|ids|name|file|path|dir|url|uri|type|kind|length|len|size|count|limit|budget|field|column|policy|rule|rules"
    r"|label|prompt|hint|help|ref|arn|version|expiry|expires|age|ttl|regex|pattern|format|index|counts?|usage|env|var"
    r"|source|status|error|valid|invalid|required|s_?(?:used|read|written|total|in|out|max|min))$",
    re.IGNORECASE,
)


def _span(flat: str, rule: CredentialRule, match: re.Match[str], is_judged: bool) -> tuple[int, int] | None:
    """Return the start and end of the credential in a match; None if the check for the rule's kind rejects it."""
    if rule.kind == rules.TOKEN:
        return _token_span(flat, rule, match)
    start, end = match.span(match.lastindex or 0)
    if "\0" in flat[start:end]:
        return None
    if not is_judged:
        return start, end
    value = flat[start:end]
    if rule.kind == rules.NAMED:
        return (start, end) if values.is_mixed(value) and not values.is_placeholder(value) else None
    if _OTHER_VALUE.match(match.groupdict().get("rest") or ""):
        return None
    quoted = flat[start - 1 : start] in ("'", '"', "`", ">")
    if not quoted and "rest" in match.groupdict():
        end = _end_of_bare(flat, match, start, end)
        value = flat[start:end]
        if "_" in value and value.isidentifier() and flat.startswith(" (", end):
            return None  # a call in GNU's style
    if not value or not _JUDGES[rule.kind](value, quoted) or _is_own_name(flat, rule, match, value):
        return None
    return start, end


# Escapes in JSON, C, URLs, mail and terminal colours; a word may begin right after one.
_ESCAPE = lazy_regex(
    r"(?:\\[abefnrtv0]|\\u[\da-f]{4}|\\x[\da-f]{2}|[%=][\da-f]{2}|\[[\d;]{0,16}[a-z])\Z", re.ASCII | re.IGNORECASE
)


def _token_span(flat: str, rule: CredentialRule, match: re.Match[str]) -> tuple[int, int] | None:
    start, end = match.span()
    if flat[start - 1 : start].isalnum() and not (
        _ESCAPE.search(flat, max(0, start - _LONGEST_ESCAPE), start) or _is_unmistakable(rule, match[0])
    ):
        return None
    while end < len(flat) and end - match.end() < _TAIL and (flat[end].isalnum() or flat[end] in "_-"):
        end += 1
    return None if "\0" in match[0] or _is_sample(match[0]) else (start, end)


_HEXADECIMAL = frozenset("0123456789abcdefABCDEF-_")


def _is_unmistakable(rule: CredentialRule, token: str) -> bool:
    """Return whether a token counts even inside a word: it has a prefix such as `ghp_` and a random key.

    The prefix has at least 4 characters and ends in `_`, `-` or `.`; with letters alone it might be part of base64. The
    key must not be hexadecimal, since `monkey-0123…` may be a name and a hash.
    """
    prefixes = (word for word in rule.words if len(word) >= _LONG_PREFIX and word.endswith(("_", "-", ".")))
    rests = (token.removeprefix(word) for word in prefixes if token.startswith(word))
    return any(values.is_random_value(rest, quoted=True) and not _HEXADECIMAL.issuperset(rest) for rest in rests)


def _is_sample(token: str) -> bool:
    """Return whether a token is only an example, such as one that ends in EXAMPLE."""
    low = token.lower()
    return any(word in low for word in ("xxxx", "example", "****", "....", "your-", "your_", "redacted", "placeholder"))


def _end_of_bare(flat: str, match: re.Match[str], start: int, end: int) -> int:
    """Return the end of a value without quotes: in code a comma or bracket, after `NAME=` in a shell the next blank."""
    value = flat[start:end]
    name = flat[match.start() : match.end("rest")]
    if flat[start - 1 : start] == "=" and name.isupper():
        return start + len(value.rstrip(",;)]}"))
    cut = next((place for place, sign in enumerate(value) if sign in ",;)]}|"), len(value))
    rest = value.find("&")  # the next parameter of a URL is no part of it
    return start + min(cut, rest if 0 <= rest < value.rfind("=") else cut)


def _is_own_name(flat: str, rule: CredentialRule, match: re.Match[str], value: str) -> bool:
    """Return whether a password only repeats the name of its user or variable, as examples and constants do."""
    before = flat[match.start() : match.start(match.lastindex or 0)]
    if rule.kind == rules.VARIABLE:
        if flat[match.start(match.lastindex or 0) - 1] == "`" and " " in value:
            return True  # a shell command in backticks, whose output is the value
        return flat[match.start() : match.end("rest")].startswith(f"{value.upper()}_")
    if rule.kind == rules.ANY:
        users = re.split(r"[\s:/=\"']+", before)[-3:-1]
        is_url = rule.shape.startswith("://")
        return any(values.is_named_like_user(user, value) or (is_url and user == value) for user in users)
    letters, name = (re.sub(r"[\W_]", "", text.lower()) for text in (value, _qualifier(flat, match.start()) + before))
    return letters in name and any(word in letters for word in rule.words)


def _qualifier(flat: str, end: int) -> str:
    """Return the part of an identifier before `end`, at most 60 characters."""
    text = flat[max(0, end - 60) : end]
    return text[len(text.rstrip(_IDENTIFIER)) :]


def _merge(flat: str, spans: list[tuple[int, int, int]]) -> list[Span]:
    """Merge overlapping candidates into spans, each with the name of the earliest rule in the table."""
    names = [*(rule.name for rule in rules.table()), RANDOM, STATED]
    merged: list[tuple[int, int, int]] = []
    valid = (span for span in spans if span[0] < span[1] and "\0" not in flat[span[0] : span[1]])
    for start, end, place in sorted(valid):
        if merged and start < merged[-1][1]:
            last = merged[-1]
            merged[-1] = (last[0], max(last[1], end), min(last[2], place))
        else:
            merged.append((start, end, place))
    return [Span(start, end, names[place]) for start, end, place in merged]

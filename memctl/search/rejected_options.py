"""Find options that the memory has rejected and that a text brings back, such as "MongoDB" in a commit's subject.

An option is an alternative of a decision in force, or the title of a rejected or superseded decision. What an
alternative is called stands before its reason: "MongoDB" in "MongoDB: no joins". A false warning costs more than a
missed one, so an option is only looked for if its words tell it from others:

- If it begins with a name, such as MongoDB or Google Cloud Storage, that name is found in sentences and in code.
- An option of ordinary words, such as "a lock per session", is found in sentences that have all of them.

What the title of a decision in force names, and what the code used before, is not brought back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache

import msgspec

from memctl.git import code_search
from memctl.git.repository import Repository
from memctl.record import content_fields
from memctl.record.kinds import DECISION, ISSUE, STATE
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text import similarity
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS

# Words that options begin with, and parts that most programs have: by themselves they name no option.
_ORDINARY_WORDS = """
add adopt allow always api app avoid backend base both build cache change check class cli client code command commit
component config configuration context data database default delete docs document drop each enable event every field
file first fix folder follow form format framework frontend function git hook html http https id ids ignore import
index install interface json keep key library line list load local lock log make markdown memory merge message method
migrate mode model module move name native new no none nothing null one open own package page parse path pattern
plugin prefer project proxy queue read record reject remote remove replace retry save script search section server
service session source split sql start state storage store string switch table tag task template test text thread tree
type url use user value variable version wait web word write xml yaml
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
# What begins the reason of an alternative, and so ends its name.
_REASON = lazy_regex(
    r":(?:\s|$)|\s[\u2013\u2014-]{1,2}\s|\s\(|[,;.](?:\s|$)|"
    r"\s(?:because|but|since|so that|which|whose|while|would)\b|\n"
)
_LEAD = lazy_regex(
    r"((?:just |only |simply |to )*(?:use|using|adopt|buy|choose|go with|introduce|move to|switch to|take|try) )?"
    r"((?:a|an|the) )?",
    re.IGNORECASE,
)
_Clauses = list[tuple[str, set[str]]]  # parts of a text, each with its words
_CLOSED = ("rejected", "superseded")  # decisions whose title is the option
_LINK = lazy_regex(r"!?\[([^\]]*)\]\([^)]*\)")
_TOKEN = lazy_regex(r"[^\W_][\w+#]*(?:[.-]\w+)*")
_HUMP = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_BEHIND = ("", "and", "as", "for", "instead", "or", "with")  # what may follow a name: "Kafka for events"
_BETWEEN = r"[^a-z0-9\n]{0,2}"  # the parts of one name: Google Cloud, google.cloud, google_cloud
_ROOTED = ("db", "sql")  # MongoDB is mongo in code, PostgreSQL is postgres
_ROOT = 5  # letters that such a root has at least; a shorter one is an ordinary word or part of one
_NO_CODE = lazy_regex(
    r"(?:^|/)(?:tests?|spec|__tests__|fixtures|vendor|node_modules)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$"
    r"|\.(?:md|mdx|rst|adoc|svg|csv|lock|sum|ipynb|min\.js|map|snap)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml)$",
    re.IGNORECASE,
)
_LEAST = 3  # words of an option that is looked for, or two in one clause, such as "sticky sessions"
# Where a clause begins, and words by which it does not adopt what follows.
_CLAUSE = lazy_regex(
    r"[,;:.](?:\s|$)|\s[\u2013\u2014-]\s|\b(?:and|by|but|in favou?r of|to|with)\b(?=\s)", re.IGNORECASE
)
_AGAINST = lazy_regex(
    r"\b(?:avoid\w*|against|can(?:no|')t|compare[ds]?|delet(?:e[sd]?|ing)|deprecat\w+|drop(?:s|ped|ping)?|from|instead|"
    r"leav(?:e|es|ing)|neither|never|no|nor|not|over|reject\w*|remov(?:e[sd]?|ing|al)|replac(?:e[sd]?|ing)|"
    r"stop(?:s|ped)?|than|unlike|versus|vs|without|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)


class RejectedOption(msgspec.Struct, frozen=True):
    """An option that a decision rejected, and how it is recognized.

    - `record`: the decision in force that has the option as an alternative, or the rejected or superseded decision.
    - `name`: the option as the record calls it, such as "MongoDB"; `reason`: why it was not taken, "" if not known.
    - `names`: regular expressions of the names with which it begins, for whole words of a text in lower case.
    - `words`: its ordinary words, as `similarity.terms` returns them; none if it has names.
    """

    record: Record
    name: str
    reason: str
    names: tuple[str, ...]
    words: frozenset[str]

    def describe(self) -> str:
        """Return what was done to the option, by which decision and why: "rejected by DEC-… (Adopt SQL): no joins"."""
        record, reason = self.record, f": {self.reason}" if self.reason else ""
        if record.status in _CLOSED:
            return f"{record.status}: {' -> '.join((record.id, *record.superseded_by))}"
        return f"rejected by {record.id} ({record.title}){reason}"


class Passage(msgspec.Struct, frozen=True):
    """A text in which options are looked for, and where it is; `is_code` is False for a sentence such as a title."""

    text: str
    where: str
    is_code: bool = False


class BroughtBack(msgspec.Struct, frozen=True):
    """A rejected option, the passages that bring it back, and the line of the first of them (from 1)."""

    option: RejectedOption
    passages: tuple[Passage, ...]
    line: int


def brought_back(
    snapshot: Snapshot,
    options: Iterable[RejectedOption],
    passages: Sequence[Passage],
    is_used: Callable[[RejectedOption], bool],
) -> list[BroughtBack]:
    """Return the options that some passages bring back, each with these passages.

    An option that the title of a decision in force takes up is left out. `is_used` returns whether the code used an
    option before; it is called only for options that were found.
    """

    @cache
    def in_force() -> list[_Clauses]:
        titles = snapshot.catalogue.titles(DECISION.name, only_open=True)
        return [_clauses(Passage(title, "")) for title in titles]

    clauses = [_clauses(passage) for passage in passages]
    found = []
    for option in options:
        having = tuple(passage for passage, parts in zip(passages, clauses, strict=True) if _has(option, parts))
        if having and not any(_has(option, title) for title in in_force()) and not is_used(option):
            found.append(BroughtBack(option, having, _line(option, having[0])))
    return found


def rejected_options(snapshot: Snapshot, decisions: Iterable[Record]) -> list[RejectedOption]:
    """Return the options that some decisions, of any status, rejected."""
    titles = snapshot.catalogue.titles(DECISION.name, only_open=True)
    spoken = frozenset(_TOKEN.findall("\n".join(titles)))
    return [option for record in decisions for option in _of_decision(snapshot, record, spoken)]


def of_record(record: Record, body: str) -> list[Passage]:
    """Return the passages of a record that say what it wants: its title, and the text of what was decided.

    A learning wants nothing; it may well be about an option that was rejected. So does a closed record.
    """
    if not record.is_open or record.memory_type not in (DECISION.name, ISSUE.name, STATE.name):
        return []
    decided = content_fields.content(record.kind, body).get("decision", "")
    return [Passage(text, record.path) for text in (record.title, decided) if isinstance(text, str) and text]


def used_in(repository: Repository, commit: str, memory: str) -> Callable[[RejectedOption], bool]:
    """Return the function that says whether the code of a commit has one of an option's names; "" is no commit.

    `memory` is the folder of the memory, whose texts are no code. Ordinary words are never asked for.
    """

    @cache
    def has(names: tuple[str, ...]) -> bool:
        lines = code_search.lines_with(repository, commit, names, without=memory) if commit and names else ()
        return any(_find(names, plain_text(line)) >= 0 for line in lines)

    return lambda option: has(option.names)


def is_code(path: str) -> bool:
    """Return whether options are looked for in a file: not in prose, tests, lock files and other data."""
    return not _NO_CODE.search(path)


def plain_text(text: str) -> str:
    """Return a text in lower case, with camelCase and snake_case split into words."""
    return _HUMP.sub(" ", text).lower()


def _find(names: Iterable[str], plain: str) -> int:
    """Return where in a text the first of some names is, -1 if none is there."""
    matches = (re.search(rf"(?<![^\W_]){name}(?![^\W_])", plain) for name in names)
    return next((match.start() for match in matches if match), -1)


def _line(option: RejectedOption, passage: Passage) -> int:
    plain = plain_text(passage.text)
    return plain.count("\n", 0, max(_find(option.names, plain), 0)) + 1


def _clauses(passage: Passage) -> _Clauses:
    """Return the text of a passage; of a sentence the clauses, without what they speak against.

    Each part is given as `plain_text` returns it, with its words; code has no words to look for.
    """
    if passage.is_code:
        return [(plain_text(passage.text), set())]
    parts = _CLAUSE.split(passage.text)
    adopted = [part[: against.start()] if (against := _AGAINST.search(part)) else part for part in parts]
    return [(plain_text(part), similarity.terms(part)) for part in adopted]


def _has(option: RejectedOption, clauses: _Clauses) -> bool:
    if option.names:
        return any(_find(option.names, plain) >= 0 for plain, _ in clauses)
    if len(option.words) < _LEAST:
        return any(option.words <= terms for _, terms in clauses)
    return option.words <= {term for _, terms in clauses for term in terms}


def _of_decision(snapshot: Snapshot, record: Record, spoken: Collection[str]) -> Iterator[RejectedOption]:
    """Yield the options that a decision rejected: its alternatives, or what its own title says."""
    if record.status in _CLOSED:
        yield from _option(record, record.title, "", "", spoken)
    elif record.status == DECISION.statuses[0] and record.is_open:
        content = content_fields.content(DECISION, snapshot.body(record))
        decided = f"{record.title} {content.get('decision', '')}"
        for item in content.get("alternatives_considered", ()):
            text = _LINK.sub(r"\1", item)
            end = _REASON.search(text)
            name, reason = (text[: end.start()], text[end.end() :]) if end else (text, "")
            yield from _option(record, name, " ".join(reason.split()).rstrip(")"), decided, spoken)


def _option(record: Record, name: str, reason: str, decided: str, spoken: Collection[str]) -> Iterator[RejectedOption]:
    """Yield the option with a name, if it can be recognized; `decided` is what was decided instead.

    `spoken` are the words of decisions' titles: what stands there in small letters is no name.
    """
    name = " ".join(name.replace("`", "").replace("*", "").split())
    if _AGAINST.match(name):
        return
    names = tuple(map(_pattern, _names(name, spoken)))
    words = frozenset(similarity.terms(name))
    if names:
        if _find(names, plain_text(decided)) < 0:
            yield RejectedOption(record, name, reason, names, frozenset())
    elif len(words) >= _LEAST - 1 and not words <= similarity.terms(f"{decided} {_ORDINARY_WORDS}"):
        yield RejectedOption(record, name, reason, (), words)


def _names(option: str, spoken: Collection[str]) -> Iterator[str]:
    """Yield the names with which an option begins: "Google Cloud Storage", "markdown-it-py", "Kafka or NATS"."""
    lead = _LEAD.match(option)
    assert lead is not None  # all of it is optional
    core, has_verb, article = option[lead.end() :], lead[1], lead[2]
    tokens = [match[0] for match in _TOKEN.finditer(core)] if core[:1].isalnum() else []
    while tokens and not _is_ordinary(tokens[0]):
        end = 1
        while end < len(tokens) and (tokens[end][0].isupper() or _is_odd(tokens[end])):
            end += 1
        follows = tokens[end] if end < len(tokens) else ""
        is_plain = end == 1 and not _is_odd(tokens[0])
        can_be_name = follows in _BEHIND and not article and tokens[0].lower() not in spoken
        if is_plain and not (can_be_name and (tokens[0][0].isupper() or has_verb or len(tokens) == 1)):
            return
        yield " ".join(tokens[:end])
        tokens = tokens[end + 1 :] if follows in ("and", "or") else []


def _is_odd(token: str) -> bool:
    """Return whether a word is spelled as no ordinary word is: MongoDB, gRPC, k8s, markdown-it-py."""
    return token[1:] != token[1:].lower() or "-" in token or (not token.isalpha() and not token.isdigit())


def _is_ordinary(token: str) -> bool:
    words = re.findall(r"[a-z0-9]+", token.lower())
    return len(words) < _LEAST and all(
        len(word) < 3 or word.removesuffix("s") in _ORDINARY or word in STOP_WORDS for word in words
    )


def _pattern(name: str) -> str:
    """Return the regular expression of a name, for texts as `plain_text` returns them; `git grep -E` takes it, too."""
    parts = re.findall(r"[^\W_]+", plain_text(name))
    pattern = _BETWEEN.join(map(re.escape, parts)) + "(js|py|rs|s)?"
    if len(parts) > 1 and parts[-1] in _ROOTED and len("".join(parts[:-1])) >= _ROOT:
        pattern = f"({pattern}|{_BETWEEN.join(map(re.escape, parts[:-1]))}(js|s)?)"
    return f"(py|aio|node|django)?{pattern}"

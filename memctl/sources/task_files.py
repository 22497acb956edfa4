"""Find the files that a task is about: by path, by definitions, and by the records and sections that refer to them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from os.path import commonprefix

import msgspec

from memctl.pages import freshness, repository_paths
from memctl.record import pages
from memctl.record.errors import InvalidRecord
from memctl.record.filters import Filters
from memctl.record.snapshot import Snapshot
from memctl.search import ranking
from memctl.store.file_list import FileList
from memctl.text import words

# Shares of a full mention. A file whose path is in the task is meant, and a file whose name is one of its words most
# likely; a word that only occurs in a path may mean something else. From ACTIVE on a file counts as active.
FULL, CALLED, ONE_OF_MANY, IN_FOLDER = 1.0, 0.9, 0.8, 0.6
ACTIVE = FULL
_PATH_WORDS, _NAME_WORDS, _RECORD, _SECTION = 0.8, 0.5, 0.8, 0.4
_FEW = 3  # files that share a name, up to which the name counts in full for each of them
_SHORTEST = 4  # letters of a word that counts as a file's name
_RECORDS = 10  # the best matching records, whose references are followed
_MOST_HAVING = 5_000  # files with a word, above which it finds no file by itself
_MOST_DEFINING = 5_000  # files that may define a name, above which it says nothing
_MOST_BELOW = 200  # files in a folder that is named; a larger folder says nothing about its files
_LONGEST = 20_000  # characters of a task
_TOKEN = re.compile(r"§4\.[^\s`'\"()]+|[\w$@.\\/+-]+")
_WORDS = "{path_words words}"  # the words of paths and facts in `FileList`
_PATTERN = re.compile(r"[*?\[\\ ]")
_LINE = re.compile(r":\d+(?:-\d+)?$")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w|[A-Z]{2}[a-z]")


class FileMention(msgspec.Struct, frozen=True):
    """How surely a task is about a file (`share`, from 0 to 1), and the reason (`why`).

    A file that the task names by its path has the share 1.
    """

    share: float
    why: str


Mentions = dict[str, FileMention]


def mentions(task: str, contents: FileList, likely: Collection[str] = ()) -> Mentions:
    """Return the files that a task names: by path, by something that they define, or by words of their path or purpose.

    `contents` are the files to look for, by path, and `likely` the paths of files that the task may be about for other
    reasons, such as their text. A word that more than 5,000 files have says little. It counts for the files in
    `likely`, for those that it is the name of, and for those that other words find. If these are none at all, the
    rarest such word counts for all files that have it.
    """
    result: Mentions = {}
    task = task[:_LONGEST]
    without_lines = " ".join(_LINE.sub("", word.rstrip(",.;:)")) for word in task.split())
    tokens = [token.strip(".-/\\") for token in dict.fromkeys(_TOKEN.findall(without_lines))]
    rest = task
    for token in tokens:
        if _add_paths(result, contents, token):
            rest = rest.replace(token, " ")  # its folders add nothing
    _add_definitions(result, contents, tokens, task)
    _add_words(result, contents, rest, likely)
    return result


def from_memory(
    snapshot: Snapshot, task: str, files: FileList, now: str, likely: Collection[str] = (), most: int = -1
) -> Mentions:
    """Return the files that records or sections about a task refer to, each with how surely it is meant.

    A record that matches the task refers to files by its code references. It counts more, the better it matches and the
    more words of the task it has. A section whose title has a word of the task refers to the files that it covers. Of
    these, the first `most` by path are returned (-1 stands for all), and also those in `likely`: paths of files that
    the task may be about for other reasons, such as their text. `now` is the current time in canonical form.
    """
    found: Mentions = {}
    wanted = _telling_words(task[:_LONGEST])
    ranked = ranking.search(snapshot, task[:_LONGEST], now, Filters(), ranking.RECORDS, _RECORDS) if wanted else []
    for result in ranked:
        record = result.record
        if record is None or not record.code_refs:
            continue
        try:
            body = snapshot.body(record)
        except (InvalidRecord, OSError):  # it was changed just now
            body = ""
        found_words = words.words_of(" ".join((record.title, *record.tags, body)))
        met = {wanted[word] for word in found_words if word in wanted}
        share = _RECORD * result.match * len(met) / len(set(wanted.values()))
        for reference in record.code_refs:
            for path in _code_paths(files, reference):
                below = [path] if path in files else _files_below(files, path)
                _add(found, below, share, f"{record.id} refers to it")
    for page in snapshot.outline.sections if wanted else ():
        title = {word for word in words.words_of(page.title) if word not in words.STOP_WORDS}
        if shared := [word for word in title if word in wanted]:
            share = _SECTION * len(shared) / len(title)
            _add(found, _covered(files, page.paths, likely, most), share, f"{page.id} covers it")
    return found


def strongest(*several: Mentions) -> Mentions:
    """Merge several results of `mentions`: each file gets the strongest of its mentions."""
    result: Mentions = {}
    for each in several:
        for path, mention in each.items():
            _add(result, [path], mention.share, mention.why)
    return result


def _add(result: Mentions, paths: Iterable[str], share: float, why: str) -> None:
    for path in paths:
        if share > 0 and (path not in result or result[path].share < share):
            result[path] = FileMention(round(share, 3), why)


def _code_paths(files: FileList, reference: str) -> tuple[str, ...]:
    near = {name for path in (reference, pages.code_path(reference)) for name in _at(files, path)}
    return freshness.code_paths(frozenset(near), reference)


def _at(files: FileList, path: str) -> list[str]:
    return [*([path] if path in files else ()), *islice(files.below(f"{path.rstrip('/')}/"), 1)]


def _covered(files: FileList, globs: Sequence[str], likely: Collection[str], most: int) -> list[str]:
    if not globs:
        return []
    from memctl.text.globs import Globs  # slow to load

    matches = Globs(globs).match
    starts = [_PATTERN.split(each.lstrip("/"), maxsplit=1)[0] for each in globs]
    is_rooted = all("/" in each.rstrip("/") and not each.startswith(("!", "#", "\\")) for each in globs)
    below = files.below(commonprefix(starts) if is_rooted else "")  # noqa: RUF071 - characters are meant
    found = (path for path in below if matches(path) is not None)
    sure = [path for path in likely if path in files and matches(path) is not None]
    return [*sure, *islice(found, None if most < 0 else most)]


def _files_below(files: FileList, folder: str) -> list[str]:
    found = list(islice(files.below(folder), _MOST_BELOW + 1))
    return found if len(found) <= _MOST_BELOW else []


def _add_paths(result: Mentions, files: FileList, token: str) -> bool:
    """Return whether the word names a file without doubt."""
    reference = token.removeprefix("§4.")
    if reference not in files and re.search(r"\w[./]\w", token) is None:
        return False
    paths = repository_paths.resolve(_may_mean(files, reference), reference)
    is_one = len(paths) <= _FEW
    for path in paths:
        if path.endswith("/"):
            _add(result, _files_below(files, path), IN_FOLDER, f"the task names {path}")
        else:
            _add(result, [path], FULL if is_one else ONE_OF_MANY, f"the task names {token}")
    return is_one and any(path in result and result[path].share == FULL for path in paths)


def _may_mean(files: FileList, reference: str) -> frozenset[str]:
    """Return files among which are all that decide what a reference means."""
    wanted = repository_paths.without_stars(reference)
    if there := _at(files, wanted):
        return frozenset(there)
    return files.with_all("path_words", wanted, len(files))


def _add_definitions(result: Mentions, contents: FileList, tokens: Iterable[str], task: str) -> None:
    parts = {part for token in tokens for part in re.split(r"[./\\]", token) if _MIXED.search(part)}
    parts |= set(re.findall(r"\b(\w{3,})\(", task)) | set(re.findall(r"`(\w{3,})`", task))
    defining: dict[str, list[str]] = {}
    for name in sorted(parts):
        for path in contents.with_all("names", name, _MOST_DEFINING):
            if name in contents[path].facts.names:
                defining.setdefault(name, []).append(path)
    for name, paths in defining.items():
        _add(result, paths, FULL if len(paths) <= _FEW else ONE_OF_MANY, f"it defines {name}")


def _add_words(result: Mentions, contents: FileList, task: str, likely: Collection[str]) -> None:
    wanted = _telling_words(task)
    if not wanted:
        return
    paths, numbers = _with_words(contents, wanted)
    in_path: dict[str, set[str]] = {}
    in_names: dict[str, set[str]] = {}
    for path in paths.union(likely) if numbers else paths:
        if strong := {wanted[word] for word in words.words_of(path) if word in wanted}:
            in_path[path] = strong
        if weak := {wanted[word] for word in contents[path].facts.words if word in wanted}:
            in_names[path] = weak
    both = {path: in_path.get(path, set()) | in_names.get(path, set()) for path in in_path.keys() | in_names.keys()}
    having = {**Counter(chain.from_iterable(both.values())), **numbers}
    weights = {word: math.log(1 + len(contents) / number) for word, number in having.items()}
    most = sum(weights[word] for word in sorted(weights))
    for path, met in both.items():
        strong = in_path.get(path, set())
        weight = sum(weights[word] for word in sorted(strong))
        weight += _NAME_WORDS * sum(weights[word] for word in sorted(met - strong))
        if weight:
            share = _PATH_WORDS * math.sqrt(weight / most)  # some words of a task never occur in any path
            _add(result, [path], share, f"words of the task: {', '.join(sorted(met))}")
    _add_called(result, wanted, in_path)


def _with_words(files: FileList, wanted: Mapping[str, str]) -> tuple[frozenset[str], dict[str, int]]:
    """Return the files that have a word in their path or their facts, and the words that too many files have.

    `wanted` has the word of each form. A word that more than 5,000 files have comes with about their number; it adds
    only the files that are called by it. The rarest such word counts as rare if no other word is found.
    """
    forms: dict[str, list[str]] = {}
    for form, word in wanted.items():
        forms.setdefault(word, []).append(form)
    having = {word: files.having(_WORDS, some, _MOST_HAVING) for word, some in forms.items()}
    frequent = {word: files.frequency(_WORDS, forms[word]) for word, paths in having.items() if paths is None}
    called = (files.called(form) for word in frequent for form in forms[word])
    with_words = frozenset[str]().union(*filter(None, having.values()), *called)
    if frequent and not with_words:
        rarest = min(frequent, key=frequent.__getitem__)
        del frequent[rarest]
        with_words = files.having(_WORDS, forms[rarest], len(files)) or with_words
    return with_words, frequent


def _add_called(result: Mentions, wanted: Mapping[str, str], paths: Iterable[str]) -> None:
    """A name that more than three files have does not count."""
    called: dict[str, list[str]] = {}
    for path in paths:
        stem = path.rpartition("/")[2].partition(".")[0].lower()
        if len(stem) >= _SHORTEST and stem in wanted:
            called.setdefault(wanted[stem], []).append(path)
    for word, several in called.items():
        _add(result, several if len(several) <= _FEW else [], CALLED, f"it is called {word}")


def _telling_words(task: str) -> dict[str, str]:
    """Return the words of a task without stop words, by each form in which a word may occur (plural, -ed, -ing)."""
    found: dict[str, str] = {}
    for word in words.words_of(task):
        if word not in words.STOP_WORDS and len(word) > 1 and not word.isdigit():
            forms = [word, f"{word}s", f"{word}es", f"{word}ed", f"{word}ing"]
            forms += [word.removesuffix(end) for end in ("s", "es", "ed", "ing") if len(word) > len(end) + 2]
            for form in forms:
                found.setdefault(form, word)
    return found

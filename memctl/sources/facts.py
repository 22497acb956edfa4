"""Facts about the repository's files, such as their imports; computed once per content and cached by Git's blob id."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from memctl.git.trees import compute_blob_id
from memctl.pages import definitions, outline
from memctl.record.frontmatter import clean_newlines
from memctl.sources import generated_files, imports, manifests
from memctl.sources.resolve import code_suffix
from memctl.store import source_facts
from memctl.store.cache import Cache
from memctl.store.files import MAX_BYTES
from memctl.store.repository_files import FilesInGit, FilesOnDisk
from memctl.text import sensitive_files, words
from memctl.tokens.families import kind_of_text

Progress = Callable[[int, int], None]
LATER = "it is large and has not been read yet; the next run reads it"
TOO_LARGE, GONE = f"larger than {MAX_BYTES:,} bytes", "it does not exist any more, or can't be read"
_LARGE = 200_000  # bytes; files that people write are smaller, and a generated file of 2 MB takes 0.6 s
_SECONDS = 2.0  # of processor time for the large files of one run
_AT_ONCE = 200  # files that are read before their facts are written to the cache
_MOST_IMPORTS, _MOST_NAMES, _MOST_WORDS = 500, 500, 200  # of one file
_NAME = re.compile(r"[\w$]+")
_TODO_WORDS = ("TODO", "FIXME", "XXX", "HACK")
_TODO = re.compile(rf"\b(?:{'|'.join(_TODO_WORDS)})\b")


class FileFacts(msgspec.Struct, frozen=True, array_like=True):
    """Facts about the content of one file.

    - `size` is in bytes, and `kind` is the kind of text, such as "python" or "prose".
    - `refusal` says why the file may never enter a model's context, "" if it may.
    - `todos` counts TODO comments.
    - `imports` are the imports in its code, such as "a.b" for `import a.b` in Python (see `imports.in_code`).
    - `names` are the names that the file defines, such as classes. `words` are the words of these names and of the
      sentence on the file's purpose.
    - `declared` is what a manifest such as go.mod declares (`manifests.declarations`), () for any other file.
    """

    size: int
    lines: int = 0
    kind: str = "prose"
    refusal: str = ""
    todos: int = 0
    imports: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    declared: tuple[tuple[str, str], ...] = ()
    is_generated: bool = False


class _FirstFacts(msgspec.Struct, frozen=True, array_like=True):
    """The first fields of FileFacts, which are decoded in a tenth of the time that all take."""

    size: int
    lines: int
    kind: str
    refusal: str


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(FileFacts).decode
_DECODE_FIRST = msgspec.msgpack.Decoder(_FirstFacts).decode


class Content:
    """The current content of a file: Git's blob id ("" if the file could not be read), and facts about the content.

    `encoded` are the facts as the cache stores them. They are decoded only when they are needed, which saves time in a
    repository of 100,000 files.
    """

    __slots__ = ("_facts", "blob", "encoded")

    def __init__(self, blob: str, facts: FileFacts | bytes) -> None:
        self.blob = blob
        self.encoded = facts if isinstance(facts, bytes) else _ENCODE(facts)
        self._facts: FileFacts | None = None

    @property
    def facts(self) -> FileFacts:
        """The facts about the content, decoded when they are first needed."""
        if self._facts is None:
            self._facts = _DECODE(self.encoded)
        return self._facts

    @property
    def refusal(self) -> str:
        """Why the file may never enter a model's context, "" if it may."""
        return _DECODE_FIRST(self.encoded).refusal


_LOST = Content("", FileFacts(0, refusal=GONE))


def paths_with_text(contents: Mapping[str, Content], texts: Iterable[str]) -> dict[str, list[str]]:
    """Return for each of `texts` the paths of the files whose facts contain the text, such as in a name or an import.

    `contents` are the files by path. This is fast, because the facts are not decoded: 0.1 s for 8 texts and 100,000
    files.
    """
    by_text: dict[str, list[str]] = {text: [] for text in texts}
    wanted = [(text.encode(), paths) for text, paths in by_text.items()]
    for path, content in contents.items():
        encoded = content.encoded
        for text, paths in wanted:
            if text in encoded:
                paths.append(path)
    return by_text


def of_content(path: str, content: bytes) -> FileFacts:
    """Compute the facts of a file from its content; the name and suffix in its path say how to parse it."""
    if sensitive_files.is_binary(content):
        return FileFacts(len(content), refusal=sensitive_files.BINARY)
    text = clean_newlines(content.decode(errors="replace"))
    if reason := sensitive_files.refusal_of_text(text):
        text = sensitive_files.without_credentials(text)
    imports, names = _in_code(code_suffix(path), text)
    about = words.words_of(" ".join([*names, outline.purpose(path, text)]))
    return FileFacts(
        size=len(content),
        lines=text.count("\n") + (not text.endswith("\n") and text != ""),
        kind=kind_of_text(path, text),
        refusal=reason,
        todos=len(_TODO.findall(text)) if any(word in text for word in _TODO_WORDS) else 0,
        imports=imports,
        names=names,
        words=tuple(islice((word for word in dict.fromkeys(about) if word not in words.STOP_WORDS), _MOST_WORDS)),
        declared=manifests.declarations(path.rpartition("/")[2], text),
        is_generated=generated_files.in_text(text),
    )


def _in_code(suffix: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the imports and the defined names in code."""
    if imports.is_parsed(suffix):
        pieces = [
            (list(imports.in_piece(suffix, piece)), list(definitions.in_piece(suffix, piece)))
            for piece in definitions.parse_pieces(suffix, text)
        ]
    else:
        pieces = [(list(imports.in_code(suffix, text)), list(definitions.in_code(suffix, text)))]
    found: dict[str, None] = {}
    names: dict[str, None] = {}
    for imported, defined in pieces:
        found |= dict.fromkeys(imported)
        for _, _, title in defined:
            names |= dict.fromkeys(_NAME.findall(title.rpartition(" ")[2])[-1:])
    return tuple(islice(found, _MOST_IMPORTS)), tuple(islice(names, _MOST_NAMES))


def gather(
    top: Path, files: FilesOnDisk, cache: Cache, known: Mapping[source_facts.Key, bytes], progress: Progress | None
) -> dict[str, Content]:
    """Return the contents of all files of the worktree, by path.

    `top` is the worktree's folder. `known` are the facts that the cache has. A file whose facts are not known is read,
    and its facts are written to `cache`. `progress` is called with the number of files read and of all files to read.
    10,000 files with known facts take about 0.1 s.

    A file that is missing or can't be read has the blob id "", and a `refusal` with the reason. The same is true of a
    large file if too much time went into large files before it; the next run reads it.
    """
    unchanged = files.unchanged()
    contents: dict[str, Content] = {}
    unread: list[str] = []
    for path, blob in unchanged.items():
        packed = known.get((blob, _cache_name(path))) if blob else None
        if packed is None:
            unread.append(path)
        else:
            contents[path] = Content(blob, packed)
    sizes = {path: _size(top / path) for path in unread}
    unread.sort(key=lambda path: sizes[path] > _LARGE)
    spent = 0.0
    for done in range(0, len(unread), _AT_ONCE):
        if progress:
            progress(done, len(unread))
        some = {}
        for path in unread[done : done + _AT_ONCE]:
            began = time.process_time()
            some[path] = _content_of(top, files, path, known, is_late=spent > _SECONDS)
            if sizes[path] > _LARGE and (some[path].blob, _cache_name(path)) not in known:
                spent += time.process_time() - began
        source_facts.keep(
            cache, {(item.blob, _cache_name(path)): item.encoded for path, item in some.items() if item.blob}
        )
        contents |= some
    if progress and unread:
        progress(len(unread), len(unread))
    source_facts.forget(cache, known.keys(), {item.blob for item in contents.values()})
    return contents


def of_revision(
    files: FilesInGit, cache: Cache, known: Mapping[source_facts.Key, bytes], progress: Progress | None
) -> dict[str, Content]:
    """Return the contents of all files of a revision, by path.

    `known` are the facts that the cache has. A file whose facts are not known is read, and its facts are written to
    `cache`. A file that is too large has a `refusal`. `progress` is called with the number of files read and of all
    files to read.
    """
    blobs = files.blobs(files.names())
    contents = {
        path: Content(blob, known[key]) for path, blob in blobs.items() if (key := (blob, _cache_name(path))) in known
    }
    unread = sorted(blobs.keys() - contents.keys())
    for done in range(0, len(unread), _AT_ONCE):
        if progress:
            progress(done, len(unread))
        some = unread[done : done + _AT_ONCE]
        read = {path: of_content(path, content) for path, content in files.read(some).items()}
        source_facts.keep(cache, {(blobs[path], _cache_name(path)): _ENCODE(content) for path, content in read.items()})
        too_large = FileFacts(0, refusal=TOO_LARGE)
        contents |= {path: Content(blobs[path], read.get(path, too_large)) for path in some}
    if progress and unread:
        progress(len(unread), len(unread))
    return contents


def _content_of(
    top: Path, files: FilesOnDisk, path: str, known: Mapping[source_facts.Key, bytes], *, is_late: bool
) -> Content:
    """Return the content of a file; with `is_late` a content without cached facts is not read, and has a refusal."""
    unchanged = files.unchanged()
    try:
        content = files.read([path]).get(path)
    except OSError:
        content = None
    if content is None:
        size = _size(top / path)
        return Content(unchanged[path], FileFacts(size, refusal=TOO_LARGE)) if size > MAX_BYTES else _LOST
    blob = (unchanged[path] if files.is_settled(path) else "") or compute_blob_id(content, unchanged.values())
    packed = known.get((blob, _cache_name(path)))
    if packed is None and is_late:
        return Content("", FileFacts(len(content), refusal=LATER))
    return Content(blob, packed or of_content(path, content))


def _size(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return 0


def _cache_name(path: str) -> str:
    """Return the part of the cache key that depends on the path: a manifest's name or a suffix, such as "js".

    A suffix whose language has a parser ends in "+", because a parser finds other facts than a reader of lines.
    """
    name = path.rpartition("/")[2]
    if name in manifests.NAMES or "." not in name:
        return name
    suffix = name.rpartition(".")[2].lower()
    return f"{suffix}+" if definitions.has_parser(suffix) else suffix

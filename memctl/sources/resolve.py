"""Find the files of the repository to which imports lead; an import of an external package leads to none.

One rule serves all languages: an import has words, such as "shop" and "cart", and means the file whose path ends with
the most of them, from the first on. Of several such files the nearest is meant. `_read` says what differs by language.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memctl.pages.code_lines import CPP, GO, JAVA, LANGUAGES, PYTHON, RUBY, RUST, SCRIPT
from memctl.pages.outline import suffix_of

_Words = tuple[str, ...]
_FAMILIES = (PYTHON, GO, (*SCRIPT, "vue", "svelte"), CPP, JAVA, RUBY, RUST)
_ENTRY = re.compile(r"__init__\.pyi?|(?:lib|main|mod)\.rs|index\.(?:d\.)?[cm]?[jt]sx?")  # named as its folder
_ROOTS = ("src", "lib", "python")  # folders that Python's modules are imported from, beside those above the importer
_SUFFIX = re.compile(r"(?:\.d)?\.\w+$")
_COMPILED = re.compile(r"\.[cm]?[jt]sx?$")  # an import may name the compiled file, while the repository has the source
_ALL = "*"  # the last word of an import of all classes of a Java package


class _Import(msgspec.Struct, frozen=True):
    """An import, read: its words, and the least number of them that have to be in the file's path.

    `base` is the folder below which the file is, None for any folder.
    """

    base: str | None
    words: Sequence[str]
    least: int


def code_suffix(path: str) -> str:
    """Return a path's suffix, such as "py", if memctl can read imports in files of this kind; otherwise ""."""
    suffix = suffix_of(path)
    return suffix if suffix in LANGUAGES else ""


def module_words(path: str) -> _Words:
    """Return the words by which a file is imported: ("shop", "cart") for shop/cart.py and shop/cart/index.ts."""
    folder, _, name = path.rpartition("/")
    is_folder = suffix_of(path) in GO or _ENTRY.fullmatch(name)
    return _plain([*folder.split("/"), *([] if is_folder else [name.partition(".")[0] or name])])


class Resolver:
    """Finds the files to which imports lead.

    `names` are the paths of all files. `declared` are the names of packages by folder, as manifests declare them.
    """

    def __init__(self, names: Iterable[str], declared: Mapping[str, str]) -> None:
        self._names = frozenset(names)
        self._packages = sorted(declared.items(), key=lambda item: (-len(item[1]), item[0]))
        self._known: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._by_end: dict[_Words, list[tuple[_Words, str]]] = {}  # all, the last two or one of a file's words
        for path in self._names:
            if not path.endswith("_test.go"):
                self._add(module_words(path), path)
            if suffix_of(path) in JAVA:
                self._add((*_plain(posixpath.dirname(path).split("/")), _ALL), path)

    def _add(self, words: _Words, path: str) -> None:
        for end in {words, words[-2:], words[-1:]}:
            self._by_end.setdefault(end, []).append((words, path))

    def targets(self, path: str, imports: Iterable[str]) -> set[str]:
        """Return the paths of the files that the file at `path` imports; a Go package stands for all its files.

        `imports` are the file's imports, as `imports.in_code` yields them.
        """
        suffix = code_suffix(path)
        place = path if suffix in RUST else posixpath.dirname(path)
        targets: set[str] = set()
        for imported in imports:
            key = suffix, place, imported
            if key not in self._known:
                self._known[key] = tuple(self._find(path, suffix, imported))
            targets.update(self._known[key])
        return targets

    def traces(self, path: str) -> tuple[set[str], tuple[str, ...]]:
        """Return texts and folders by which to find the files that may import the file at `path`.

        Any file that imports it contains one of the texts in an import, or lies below one of the folders. The texts are
        such as the name of the file at `path` without suffix. The folders are for files that need not be named by those
        that import them: for "shop/__init__.py" the folder is "shop/", since a file there may have `from . import x`.
        """
        folder, name = posixpath.split(path)
        words, suffix = module_words(path), code_suffix(path)
        texts = {name.lstrip(".").partition(".")[0], *words[-1:]}
        texts |= {posixpath.basename(folder)} if suffix in JAVA else set()
        texts |= {name for root, name in self._packages if words in (_plain([root]), _plain([root, "src"]))}
        folders = [f"{folder}/" if folder else ""] if _ENTRY.fullmatch(name) else []
        folders += [f"{path.removesuffix('.rs')}/"] if suffix in RUST else []
        return texts - {""}, tuple(folders)

    def _find(self, path: str, suffix: str, imported: str) -> Sequence[str]:
        for read in self._readings(path, suffix, imported):
            for end in range(len(read.words), read.least - 1, -1):
                if files := self._matching(path, suffix, read.base, read.words[:end]):
                    return files
        return ()

    def _readings(self, path: str, suffix: str, imported: str) -> Iterable[_Import]:
        """Yield what an import may mean: a file of a package that a manifest declares, or as its language says."""
        if suffix in (*SCRIPT, *GO, *RUST):
            parts = imported.replace("::", "/")
            for root, name in self._packages:
                if parts == name or parts.startswith(f"{name}/"):
                    rest = parts[len(name) + 1 :].split("/") if parts != name else []
                    least = 0 if suffix in RUST else len(rest)
                    yield _Import(posixpath.join(root, "src"), rest, least)
                    yield _Import(root, rest, least)
                    return
        if suffix not in GO and (read := self._read(path, suffix, imported)):
            yield read

    def _read(self, path: str, suffix: str, imported: str) -> _Import | None:
        folder = posixpath.dirname(path)
        if suffix in PYTHON:
            bare = imported.lstrip(".")
            words = [word for word in re.split(r"[.|]", bare) if word not in ("", "*")]
            above = [".."] * (len(imported) - len(bare) - 1)
            return _Import(posixpath.join(folder, *above), words, 0) if bare != imported else _Import(None, words, 1)
        if suffix in RUST:
            return self._read_rust(path, imported)
        if suffix in JAVA:  # an import of a class's member has the class's name before the member's
            words = imported.split(".")
            return _Import(None, words, len(words) - (words[-1] != _ALL))
        words = imported.split("/")
        if imported.startswith("."):
            return _Import(folder, words, len(words))
        if suffix not in SCRIPT:
            return _Import(None, words, len(words))
        words = [word for word in (words[0].lstrip("@~#"), *words[1:]) if word]  # aliases such as @/cart and @src/cart
        return _Import(None, words, len(words)) if "/" in imported else None

    def _read_rust(self, path: str, imported: str) -> _Import:
        folder, name = posixpath.split(path)
        inner = folder if _ENTRY.fullmatch(name) else path.removesuffix(".rs")  # the folder of its submodules
        first, *rest = imported.removeprefix("mod ").split("::")
        if first == "crate":
            above = ["/".join(folder.split("/")[:depth]) for depth in range(folder.count("/") + 1, 0, -1)]
            roots = (root for root in above if {f"{root}/lib.rs", f"{root}/main.rs"} & self._names)
            return _Import(next(roots, folder), rest, 0)
        if first not in ("self", "super"):
            return _Import(inner, [first, *rest], 1)
        ups = [".." for word in (first, *rest) if word == "super"]
        return _Import(posixpath.join(inner, *ups), [word for word in rest if word != "super"], 0)

    def _matching(self, path: str, suffix: str, base: str | None, given: Sequence[str]) -> Sequence[str]:
        """Return the file that words mean for the file at `path`, the nearest of several; all files of a Go package."""
        if base is not None:
            whole = posixpath.normpath("/".join(filter(None, (base, *given))) or ".")
            if whole.startswith(("../", "/")) or whole == "..":
                return ()
            given = whole.split("/") if whole != "." else []
        if suffix in SCRIPT and given and _COMPILED.sub("", given[-1]) == "index":
            given = given[:-1]
        wanted, last = _plain(given), given[-1] if given else ""
        if suffix in (*SCRIPT, *CPP, *RUBY):  # the last word may have a suffix
            wanted = (*wanted[:-1], *(word.partition(".")[0] for word in wanted[-1:]))
        files = []
        for words, file in self._by_end.get(wanted if base is not None else wanted[-2:], ()):
            is_there = words == wanted if base is not None else words[-len(wanted) :] == wanted
            if is_there and _is_named(file, suffix, last):
                start = words[: -len(wanted)] if wanted else ()
                if base is not None or suffix not in PYTHON or self._is_start(start, path):
                    files.append(file)
        if not files:
            return ()
        folder = posixpath.dirname(path)
        nearest = min(files, key=lambda file: (not file.endswith(last), -_common(folder, file), len(file), file))
        if suffix in GO or _ALL in given:
            return [file for file in files if posixpath.dirname(file) == posixpath.dirname(nearest)]
        return [nearest]

    def _is_start(self, folder: _Words, path: str) -> bool:
        """Return whether Python's modules below a folder may be imported by the file at `path`."""
        top, near = "/".join(folder), posixpath.dirname(path)
        is_package = any(posixpath.join(top, f"__init__.{suffix}") in self._names for suffix in PYTHON)
        return not (top and is_package) and (f"{near}/".startswith(f"{top}/") or not top or folder[-1] in _ROOTS)


def _plain(parts: Iterable[str]) -> _Words:
    """Return words as they are compared: a crate may have a `-` in its folder's name, and a `_` in imports."""
    return tuple(word.replace("-", "_") for part in parts for word in part.split("/") if word)


def _is_named(file: str, suffix: str, last: str) -> bool:
    """Return whether a file may be meant by an import with the last word `last`, in a file with a suffix."""
    if "." in last and file.endswith(last):
        return True
    if suffix in CPP or (suffix in SCRIPT and _stem(file) != _COMPILED.sub("", last)):
        return False
    return suffix_of(file) in next((family for family in _FAMILIES if suffix in family), ())


def _stem(path: str) -> str:
    """Return the name of a file without its suffix, for an index that of its folder."""
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if _ENTRY.fullmatch(name) else _SUFFIX.sub("", name)


def _common(folder: str, path: str) -> int:
    """Return how many characters a folder has in common with that of a file, by whole names."""
    return len(posixpath.commonpath([posixpath.dirname(path), folder]))

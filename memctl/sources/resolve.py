"""Find the files of the repository to which imports lead; an import of an external package leads to none."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from memctl.pages.code_lines import CPP, GO, JAVA, LANGUAGES, PYTHON, RUBY, RUST
from memctl.pages.outline import suffix_of
from memctl.sources.imports import NAME
from memctl.sources.manifests import ALIAS, ENTRY, MODULE, PACKAGE
from memctl.store.file_list import FileList

_Finder = Callable[[str, str], Sequence[str]]  # from a folder and an import in it to the files
Declared = Mapping[str, Sequence[tuple[str, str]]]  # from a manifest's path to pairs of `manifests.declarations`
_SCRIPT_SUFFIXES = (
    *("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".json", ".vue", ".svelte"),
    *("/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mjs", "/index.cjs", "/index.mts", "/index.d.ts"),
)
# An import may name the compiled file, while the repository has the source.
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_ENTRIES = ("__init__", "index", "lib", "main", "mod")  # names of files that an import may leave out
_RUST_ROOTS = ("lib.rs", "main.rs", "mod.rs")  # their modules are beside them, not in a folder of the file's name
_ROOTS = ("src", "lib", "python")  # folders that Python's modules are imported from, beside the top and package roots


def code_suffix(path: str) -> str:
    """Return a path's suffix, such as "py", if memctl can read imports in files of this kind; otherwise ""."""
    suffix = suffix_of(path)
    return suffix if suffix in LANGUAGES else ""


class Resolver:
    """Finds the files to which imports lead, by the list of files and by what the repository's manifests declare."""

    def __init__(self, names: FileList, declared: Declared) -> None:
        self._names = names
        self._known: dict[tuple[_Finder, str, str], tuple[str, ...]] = {}
        of_system = ((GO, self._go), (CPP, self._cpp), (RUST, self._rust))
        finders = ((PYTHON, self._python), (JAVA, self._java), (RUBY, self._ruby), *of_system)
        self._finders: dict[str, _Finder] = {suffix: find for suffixes, find in finders for suffix in suffixes}
        self._known_starts: dict[str, set[str]] = {}
        self._known_go: dict[str, list[str]] = {}
        self._go_modules, self._packages, self._aliases = _declarations(declared)

    @cached_property
    def _python_roots(self) -> set[str]:
        """The folders from which Python's modules may be imported in the whole repository."""
        manifests = (path for stem in ("pyproject", "setup") for path in self._names.called(stem))
        split = [path.rpartition("/") for path in manifests]
        roots = {folder for folder, _, name in split if name in ("pyproject.toml", "setup.py", "setup.cfg")} | {""}
        return roots | {posixpath.join(root, name) for root in roots for name in _ROOTS}

    def _ends_with(self, folder: str, ending: str) -> Sequence[str]:
        """Return the file of C, Java, Kotlin or Ruby whose path has an ending; of several the nearest to the folder."""
        stem = posixpath.basename(ending).partition(".")[0] or posixpath.basename(ending)
        found = (path for path in self._names.called(stem) if suffix_of(path) in (*CPP, *JAVA, *RUBY))
        return _nearest(folder, [path for path in found if f"/{path}".endswith(f"/{ending}")])

    def _modules(self, dotted: str) -> list[str]:
        """Return the Python files that have a dotted name from any likely root, sorted."""
        last = dotted.rpartition(".")[2]
        paths = (path for stem in (last, f"{last}/") for path in self._names.called(stem))
        end = f"/{dotted.replace('.', '/')}"
        found = []
        for path in paths:
            module = path.rpartition(".")[0].removesuffix("/__init__")
            if path.endswith((".py", ".pyi")) and f"/{module}".endswith(end) and dotted != "__init__":
                root = module[: max(len(module) - len(end), 0)]
                if root in self._starts(path.rpartition("/")[0]):
                    found.append(path)
        return sorted(found)

    def _starts(self, folder: str) -> set[str]:
        """Return the roots from which the modules in a folder can be imported."""
        if folder not in self._known_starts:
            top = folder
            while top and self._is_package(top):
                top = posixpath.dirname(top)
            above = self._python_roots.intersection(_above(f"{folder}/x" if folder else "x"))
            self._known_starts[folder] = ({top} if top != folder else set()) | above
        return self._known_starts[folder]

    def _is_package(self, folder: str) -> bool:
        return any(f"{folder}/{name}" in self._names for name in ("__init__.py", "__init__.pyi"))

    def targets(self, path: str, imports: Iterable[str]) -> set[str]:
        """Return the paths of the files that the file at `path` imports; a Go package stands for all its files.

        `imports` are the file's imports, as `imports.in_code` yields them.
        """
        suffix, folder = code_suffix(path), posixpath.dirname(path)
        if suffix in RUST and posixpath.basename(path) not in _RUST_ROOTS:
            folder = path.removesuffix(".rs")  # the folder of its submodules
        find = self._finders.get(suffix, self._script)
        targets: set[str] = set()
        for imported in imports:
            key = (find, folder, imported)
            if (known := self._known.get(key)) is None:
                known = self._known[key] = tuple(find(folder, imported))
            targets.update(known)
        return targets

    def traces(self, path: str) -> tuple[set[str], tuple[str, ...]]:
        """Return texts and folders by which to find the files that may import the file at `path`.

        Any file that imports it contains one of the texts in an import, or lies below one of the folders. The texts are
        such as the name of the file at `path` without suffix. The folders are for files that need not be named by those
        that import them: for "shop/__init__.py" the folder is "shop/", since a file there may have `from . import x`.
        """
        folder, name = posixpath.split(path)
        stem, suffix, package = name.lstrip(".").partition(".")[0], code_suffix(path), posixpath.basename(folder)
        texts, folders = {stem}, list[str]()
        if package and (stem in _ENTRIES or suffix in (*GO, *JAVA)):
            texts.add(package)
        if stem in _ENTRIES:
            folders.append(f"{folder}/" if folder else "")
        if suffix in RUST:
            folders.append(f"{path.removesuffix('.rs')}/")
            texts.add(_crate(path))
        texts |= {module for module, root in self._go_modules if folder == root}
        for package_name, root, _ in self._packages:
            if (f"{folder}/".startswith(f"{root}/") or not root) and path in self._script("", package_name):
                texts.add(package_name)
        # An alias such as "@/*" for "src/*" leaves the file's name as it is.
        texts |= {pattern.partition("*")[0] for _, pattern, target in self._aliases if not target.endswith("*")}
        return texts - {""}, tuple(folders)

    def _python(self, folder: str, imported: str) -> Sequence[str]:
        module, _, name = imported.partition(NAME)
        bare = module.lstrip(".")
        names = [name] if name and name != "*" else []
        if dots := len(module) - len(bare):
            parts = folder.split("/") if folder else []
            if dots - 1 > len(parts):
                return ()
            return self._python_file([*parts[: len(parts) - dots + 1], *bare.split(".")], names)
        for candidate in (*(f"{bare}.{each}" for each in names), bare):
            if files := self._modules(candidate):
                return _nearest(folder, files)
        is_script = posixpath.join(folder, "__init__.py") not in self._names  # a script can import the files beside it
        return self._python_file([folder, *bare.split(".")], names) if is_script else ()

    def _python_file(self, parts: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        base = "/".join(part for part in parts if part)
        for candidate in (*(f"{base}/{name}" for name in names), base):
            for ending in (".py", ".pyi", "/__init__.py", "/__init__.pyi"):
                if (file := f"{candidate}{ending}".lstrip("/")) in self._names:
                    return (file,)
        return ()

    def _go(self, folder: str, imported: str) -> Sequence[str]:
        for module, root in self._go_modules:
            if imported == module or imported.startswith(module + "/"):
                return self._go_files(posixpath.join(root, imported[len(module) + 1 :]).rstrip("/"))
        return ()

    def _go_files(self, folder: str) -> list[str]:
        """Return the files of a Go package by its folder, sorted."""
        if folder not in self._known_go:
            start = f"{folder}/" if folder else ""
            names = (path for path in self._names.below(start) if "/" not in path[len(start) :])
            self._known_go[folder] = [path for path in names if path.endswith(".go") and not path.endswith("_test.go")]
        return self._known_go[folder]

    def _cpp(self, folder: str, imported: str) -> Sequence[str]:
        beside = posixpath.normpath(posixpath.join(folder, imported))
        if beside in self._names:
            return (beside,)
        return self._ends_with(folder, posixpath.normpath(imported).lstrip("./"))

    def _java(self, folder: str, imported: str) -> Sequence[str]:
        package, _, name = imported.rpartition(".")
        below = package.replace(".", "/")
        if name == "*":
            near = self._names.with_all("path_words", below, len(self._names))
            in_java = sorted(path for path in near if suffix_of(path) in JAVA)
            return [path for path in in_java if f"/{posixpath.dirname(path)}".endswith(f"/{below}")]
        # An import of a class's member has the class's name before the member's.
        wanted = (f"{each}.{suffix}" for each in (f"{below}/{name}", below) for suffix in JAVA)
        return next((files for each in wanted if (files := self._ends_with(folder, each))), ())

    def _ruby(self, folder: str, imported: str) -> Sequence[str]:
        name = imported if imported.endswith(".rb") else f"{imported}.rb"
        if imported.startswith("./"):
            beside = posixpath.normpath(posixpath.join(folder, name))
            return (beside,) if beside in self._names else ()
        return self._ends_with(folder, posixpath.normpath(name).lstrip("./"))

    def _rust(self, folder: str, imported: str) -> Sequence[str]:
        first, *rest = imported.removeprefix("mod ").split("::")
        crates = (name for name in self._names.called("lib") if name.endswith("/src/lib.rs"))
        if first == "crate":
            above = (each for each in reversed(_above(f"{folder}/x")) if each)
            roots = (each for each in above if any(f"{each}/{name}" in self._names for name in ("lib.rs", "main.rs")))
            folder = next(roots, folder)
        elif first in ("self", "super"):
            for _ in (each for each in (first, *rest) if each == "super"):
                folder = posixpath.dirname(folder)
            rest = [each for each in rest if each != "super"]
        elif not imported.startswith("mod ") and (ours := [each for each in crates if _crate(each) == first]):
            folder = posixpath.dirname(min(ours))
        else:
            return self._rust_file(folder, [first, *rest], 1)
        return self._rust_file(folder, rest, 0)

    def _rust_file(self, folder: str, parts: Sequence[str], least: int) -> Sequence[str]:
        """Return the file of a module, given by its parts below a folder; the last parts may be names in the module."""
        for end in range(len(parts), least - 1, -1):
            module = "/".join(filter(None, (folder, *parts[:end])))
            endings = (f"{module}.rs", *(f"{module}/{name}" for name in _RUST_ROOTS))
            if name := next((name for name in endings if name in self._names), None):
                return (name,)
        return ()

    def _script(self, folder: str, imported: str) -> Sequence[str]:
        if imported.startswith("."):
            return self._script_file(posixpath.join(folder, imported))
        for root, pattern, target in self._aliases:
            start, star, end = pattern.partition("*")
            is_meant = imported.startswith(start) and imported.endswith(end) if star else imported == pattern
            if is_meant and (not root or folder == root or folder.startswith(root + "/")):
                middle = imported[len(start) : len(imported) - len(end)] if star else ""
                if files := self._script_file(posixpath.join(root, target.replace("*", middle, 1))):
                    return files
        for package, root, entries in self._packages:
            if imported == package:
                wanted = [posixpath.join(root, entry) for entry in (*entries, "src/index", "index")]
                return next((files for each in wanted if (files := self._script_file(each))), ())
            if imported.startswith(package + "/"):
                rest = imported[len(package) + 1 :]
                return self._script_file(posixpath.join(root, rest)) or self._script_file(f"{root}/src/{rest}")
        return ()

    def _script_file(self, wanted: str) -> Sequence[str]:
        base = posixpath.normpath(wanted)
        if base.startswith(("../", "/")):
            return ()
        base = "" if base == "." else base
        stem, dot, end = base.rpartition(".")
        written = [stem + suffix for suffix in _COMPILED.get(dot + end, ())]
        candidates = [*(base + suffix for suffix in _SCRIPT_SUFFIXES), *written]
        return next(((name,) for each in candidates if (name := each.lstrip("/")) in self._names), ())


def _crate(root: str) -> str:
    """Return the name of the crate with a root module: `lamp_oil` for lamp-oil/src/lib.rs."""
    return posixpath.basename(posixpath.dirname(posixpath.dirname(root))).replace("-", "_")


def _above(path: str) -> list[str]:
    """Return the folders that contain a file, from the top ("") down."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts))]


def _nearest(folder: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the path whose folder has the most in common with `folder`, the shortest of several; () for none."""
    common = {path: len(posixpath.commonpath([posixpath.dirname(path), folder])) for path in paths}
    return (min(paths, key=lambda path: (-common[path], len(path), path)),) if paths else ()


def _declarations(
    declared: Declared,
) -> tuple[list[tuple[str, str]], list[tuple[str, str, list[str]]], list[tuple[str, str, str]]]:
    """Return Go modules (name, folder), packages (name, folder, entries) and aliases (folder, pattern, target).

    The longest, and so most specific, comes first in each list.
    """
    modules, packages, aliases = [], [], []
    for path, pairs in sorted(declared.items()):
        root = posixpath.dirname(path)
        entries = [value for what, value in pairs if what == ENTRY]
        for what, value in pairs:
            if what == MODULE:
                modules.append((value, root))
            elif what == PACKAGE:
                packages.append((value, root, entries))
            elif what == ALIAS:
                pattern, _, target = value.partition("\n")
                aliases.append((root, pattern, target))
    modules.sort(key=lambda module: -len(module[0]))
    packages.sort(key=lambda package: -len(package[0]))
    aliases.sort(key=lambda alias: (-len(alias[0]), -len(alias[1].partition("*")[0])))
    return modules, packages, aliases

"""Find the files of the repository to which imports lead; an import of an external package leads to none."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

from memctl.pages.code_lines import CPP, GO, JAVA, LANGUAGES, PYTHON, RUBY, RUST
from memctl.pages.outline import suffix_of
from memctl.sources.imports import NAME
from memctl.sources.manifests import ALIAS, ENTRY, MODULE, PACKAGE

_Finder = Callable[[str, str], Sequence[str]]  # from a folder and an import in it to the files
Declared = Mapping[str, Sequence[tuple[str, str]]]  # from a manifest's path to pairs of `manifests.declarations`
_SCRIPT_SUFFIXES = (
    *("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".json", ".vue", ".svelte"),
    *("/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mjs", "/index.cjs", "/index.mts", "/index.d.ts"),
)
_COMPILED = {
    ".js": (".ts", ".tsx"),
    ".jsx": (".tsx",),
    ".mjs": (".mts",),
    ".cjs": (".cts",),
}  # an import may name the compiled file, while the repository has the source
_ENTRIES = ("__init__", "index", "lib", "main", "mod")  # names of files that an import may leave out
_RUST_ROOTS = ("lib.rs", "main.rs", "mod.rs")  # their modules are beside them, not in a folder of the file's name
_ROOTS = ("src", "lib", "python")  # folders that Python's modules are imported from, beside the top and package roots


def code_suffix(path: str) -> str:
    """Return a path's suffix, such as "py", if memctl can read imports in files of this kind; otherwise ""."""
    suffix = suffix_of(path)
    return suffix if suffix in LANGUAGES else ""


class Resolver:
    """Finds the files to which imports lead, by the files' names and by what the repository's manifests declare."""

    def __init__(self, names: Collection[str], declared: Declared) -> None:
        self._names = frozenset(names)
        self._known: dict[tuple[_Finder, str, str], tuple[str, ...]] = {}
        self._finders: dict[str, _Finder] = {
            **dict.fromkeys(PYTHON, self._python),
            **dict.fromkeys(GO, self._go),
            **dict.fromkeys(CPP, self._cpp),
            **dict.fromkeys(JAVA, self._java),
            **dict.fromkeys(RUST, self._rust),
            **dict.fromkeys(RUBY, self._ruby),
        }
        self._go_modules, self._packages, self._aliases = _declarations(declared)

    @cached_property
    def _go_folders(self) -> dict[str, list[str]]:
        """The files of Go's packages by their folders."""
        folders: dict[str, list[str]] = {}
        for name in sorted(name for name in self._names if name.endswith(".go") and not name.endswith("_test.go")):
            folders.setdefault(posixpath.dirname(name), []).append(name)
        return folders

    @cached_property
    def _by_ending(self) -> dict[str, list[str]]:
        """The files of C, Java, Kotlin and Ruby by their last part."""
        by_ending: dict[str, list[str]] = {}
        for name in sorted(name for name in self._names if suffix_of(name) in (*CPP, *JAVA, *RUBY)):
            by_ending.setdefault(posixpath.basename(name), []).append(name)
        return by_ending

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        return _python_modules(self._names)

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

        Each file that imports it has an import that contains one of the texts, such as the file's name without suffix,
        or is itself below one of the folders, such as "src/".
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
        texts |= {name for name, root, _ in self._packages if f"{folder}/".startswith(f"{root}/") or not root}
        texts |= {start for _, pattern, _ in self._aliases if (start := pattern.partition("*")[0])}
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
            if files := self._modules.get(candidate):
                if len(files) == 1:
                    return files
                return (min(files, key=lambda path: (-_common_length(path, folder), len(path), path)),)
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
                return self._go_folders.get(posixpath.join(root, imported[len(module) + 1 :]).rstrip("/"), ())
        return ()

    def _cpp(self, folder: str, imported: str) -> Sequence[str]:
        beside = posixpath.normpath(posixpath.join(folder, imported))
        if beside in self._names:
            return (beside,)
        return self._nearest(folder, posixpath.normpath(imported).lstrip("./"))

    def _java(self, folder: str, imported: str) -> Sequence[str]:
        package, _, name = imported.rpartition(".")
        below = package.replace(".", "/")
        if name == "*":
            folders = (each for paths in self._by_ending.values() for each in paths)
            return [each for each in folders if f"/{posixpath.dirname(each)}".endswith(f"/{below}")]
        # An import of a class's member has the class's name before the member's.
        wanted = (f"{each}.{suffix}" for each in (f"{below}/{name}", below) for suffix in JAVA)
        return next((files for each in wanted if (files := self._nearest(folder, each))), ())

    def _ruby(self, folder: str, imported: str) -> Sequence[str]:
        name = imported if imported.endswith(".rb") else f"{imported}.rb"
        if imported.startswith("./"):
            beside = posixpath.normpath(posixpath.join(folder, name))
            return (beside,) if beside in self._names else ()
        return self._nearest(folder, posixpath.normpath(name).lstrip("./"))

    def _nearest(self, folder: str, ending: str) -> Sequence[str]:
        """Return the file whose path has this ending; if several have it, the one nearest to the folder."""
        candidates = self._by_ending.get(posixpath.basename(ending), ())
        names = [name for name in candidates if f"/{name}".endswith(f"/{ending}")]
        return (min(names, key=lambda path: (-_common_length(path, folder), len(path), path)),) if names else ()

    def _rust(self, folder: str, imported: str) -> Sequence[str]:
        first, *rest = imported.removeprefix("mod ").split("::")
        crates = (name for name in self._names if name.endswith("/src/lib.rs"))
        if first == "crate":
            roots = {posixpath.dirname(name) for name in self._names if name.endswith(("/lib.rs", "/main.rs"))}
            folder = next((each for each in reversed(_above(f"{folder}/x")) if each in roots), folder)
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


def _python_modules(names: Collection[str]) -> dict[str, list[str]]:
    """Return Python files by the dotted names that can import them from any likely root."""
    python = [name for name in names if name.endswith((".py", ".pyi"))]
    parts = [name.rpartition("/") for name in names]
    packages = {folder for folder, _, name in parts if name in ("__init__.py", "__init__.pyi")}
    roots = {folder for folder, _, name in parts if name in ("pyproject.toml", "setup.py", "setup.cfg")}
    roots |= {""}
    roots |= {posixpath.join(root, name) for root in roots for name in _ROOTS}
    modules: dict[str, list[str]] = {}
    starts: dict[str, set[str]] = {}  # the roots from which the modules in a folder can be imported, by folder
    for path in sorted(python):
        module = path.rpartition(".")[0].removesuffix("/__init__")
        folder = path.rpartition("/")[0]
        if folder not in starts:
            top = folder
            while top in packages and top:
                top = posixpath.dirname(top)
            starts[folder] = ({top} if top != folder else set()) | roots.intersection(_above(path))
        for root in starts[folder]:
            dotted = module[len(root) + 1 if root else 0 :].replace("/", ".")
            if dotted and dotted != "__init__":
                modules.setdefault(dotted, []).append(path)
    return modules


def _above(path: str) -> list[str]:
    """Return the folders that contain a file, from the top ("") down."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts))]


def _common_length(path: str, folder: str) -> int:
    """Return the length of the common path of a file's folder and another folder, in characters."""
    return len(posixpath.commonpath([posixpath.dirname(path), folder]))


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

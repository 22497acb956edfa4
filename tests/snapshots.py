"""Snapshots that are nowhere but in a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from memctl.pages.render import Renderer
from memctl.record.config import Config
from memctl.record.errors import Fault
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.record.source import Catalogue, Excerpt, Files, Hit, Texts
from memctl.store import cache_update
from memctl.store.cache import Cache
from memctl.store.cache_update import ParsedFile
from memctl.store.catalogue import StoredCatalogue
from memctl.tokens.families import markdown_estimator

SHOP = Config(format=1, project="shop")


class Given:
    """A source with what a test gives: records, texts by path, and what matches a query."""

    def __init__(
        self,
        records: Sequence[Record],
        texts: Mapping[str, str],
        match: Callable[[str], list[Hit]],
        config: Config,
        name: str,
        faults: Sequence[Fault],
    ) -> None:
        self.name = name
        self.prefix = ".memory"
        self.config = config
        self._match = match
        self._records = records
        self._texts = texts
        self._faults = faults
        self.last_id = lambda: ""

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        return [one for one in self._records if one.is_open or not only_open], self._faults

    def read(self, path: str) -> str:
        if path not in self._texts:
            raise FileNotFoundError(path)
        return self._texts[path]

    def names(self, folder: str) -> list[str]:
        return sorted(path for path in self._texts if path.startswith(f"{folder}/" if folder else ""))

    def leftovers(self) -> list[str]:
        return []

    def texts(self) -> Texts:
        return GivenTexts(self._match)

    def catalogue(self) -> Catalogue:
        """The real one, over a cache in memory."""
        cache = Cache.open(None)
        blocked = {path for path, text in self._texts.items() if "blockers" in text.casefold()}
        parsed = {
            one.path: ParsedFile(one.path, "", one, "", [], [], has_blockers=one.path in blocked)
            for one in self._records
        }
        broken = {one.path: ParsedFile(one.path, "", None, "", [], [one]) for one in self._faults}
        cache_update.update(cache, [*parsed.values(), *broken.values()], [], ("", ""), ("", ""))
        return StoredCatalogue(cache)

    def files(self) -> Files:
        return AnyFile()  # type: ignore[return-value]


class AnyFile:
    """A repository that has every file that it is asked for, and cannot be asked for anything else."""

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(paths)


class GivenTexts:
    """Texts of which is known only what matches a query."""

    def __init__(self, match: Callable[[str], list[Hit]]) -> None:
        self._match = match

    def match(self, query: str, most: int | None = None, kinds: Collection[str] = ()) -> list[Hit]:
        return [hit for hit in self._match(query) if hit.kind in kinds]

    def links(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        return []

    def threads(self, names: Collection[str], most: int) -> list[list[Hit]]:
        return []

    def instead(self, query: str) -> dict[str, tuple[str, ...]]:
        raise NotImplementedError

    def titles(self, numbers: Sequence[int]) -> dict[int, str]:
        return {}

    def bodies(self, numbers: Sequence[int]) -> dict[int, str]:
        return {}

    def excerpts(self, query: str, numbers: Sequence[int]) -> dict[int, Excerpt]:
        raise NotImplementedError

    def similar(self, path: str) -> dict[str, float]:
        raise NotImplementedError

    semantic_model = ""

    def remark(self, text: str) -> None:
        raise AssertionError(text)

    def all_texts(self) -> Iterable[tuple[str, str]]:
        raise NotImplementedError

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        raise NotImplementedError

    def without(self, paths: Collection[str]) -> Texts:
        raise NotImplementedError

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        raise NotImplementedError


def no_match(_: str) -> list[Hit]:
    return []


def snapshot(
    records: Sequence[Record],
    texts: Mapping[str, str] | None = None,
    match: Callable[[str], list[Hit]] = no_match,
    *,
    config: Config = SHOP,
    name: str = "disk",
    faults: Sequence[Fault] = (),
) -> Snapshot:
    """A snapshot of these records and texts."""
    return Snapshot(Given(records, texts or {}, match, config, name, faults))


def renderer(snapshot: Snapshot, compiled: Path | None = None) -> Renderer:
    """A renderer that fits pages as the commands do."""
    return Renderer(snapshot, markdown_estimator(snapshot.config.model), compiled)

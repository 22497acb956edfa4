"""Get the texts of documents from the cache if they are up to date, and render only the others, for a fast check."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

import msgspec

from memctl import __version__
from memctl.pages import documents
from memctl.pages.links import Links
from memctl.pages.render import Renderer
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.store.memory import Memory
from memctl.write.documents import renderer


class CachedRenderer(Renderer):
    """A renderer that takes the texts of documents from the cache if they are up to date, and renders them otherwise.

    `remember` stores them for the next check.
    """

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._memory = memory
        self._rendered: dict[str, str] = {}

    def page(self, name: str) -> str:
        """Return the text of a document, whose file is `name` below `docs/`, without its header."""
        if name not in self._rendered:
            self._rendered[name] = self._known.get(name) or self._renderer.page(name)
        return self._rendered[name]

    def remember(self) -> None:
        """Store the texts of the rendered documents in the cache, for the next check."""
        if not self._rendered.keys() <= self._known.keys():
            self.snapshot.catalogue.keep(self.key, msgspec.msgpack.encode(self._known | self._rendered))

    def is_edited(self, path: str, text: str, wanted: str | None = None) -> bool:
        """Return whether a person has edited a document."""
        return self._renderer.is_edited(path, text, wanted)

    @cached_property
    def links(self) -> Links:  # type: ignore[override]
        """The maker of links in documents."""
        return self._renderer.links

    @cached_property
    def _renderer(self) -> Renderer:
        return renderer(self._memory, self.snapshot)

    @cached_property
    def _known(self) -> dict[str, str]:
        known = self.snapshot.catalogue.recall(self.key)
        return msgspec.msgpack.decode(known, type=dict[str, str]) if known else {}

    @cached_property
    def key(self) -> bytes:
        """A hash of everything that documents show except records.

        The stored texts of documents are valid as long as it does not change. It covers pages, settings, templates,
        and the names of the repository's files. Records need not be covered, since the cache deletes stored values as
        soon as a record changes.
        """
        digest_of_all = blake2b(digest_size=16)
        shown = (__version__, self.snapshot.prefix, self.snapshot.config, self.snapshot.outline.pages)
        digest_of_all.update(msgspec.msgpack.encode(shown))
        digest_of_all.update(msgspec.msgpack.encode(sorted(self.snapshot.files.names())))
        for path in self.snapshot.names("templates"):
            digest_of_all.update(msgspec.msgpack.encode((path, documents.current_text(self.snapshot, path))))
        for file in sorted(files.templates().glob("*.j2")):
            digest_of_all.update(file.read_bytes())
        return digest_of_all.digest()

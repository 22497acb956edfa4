"""Get documents from their files if they are up to date, and render only the others, to make a check faster."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

import msgspec

from memctl import __version__
from memctl.pages import documents, generated_header
from memctl.pages.links import FOLDER
from memctl.pages.render import Renderer
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.store.memory import Memory
from memctl.write.documents import renderer


class CachedRenderer(Renderer):
    """A renderer that reads a document from its file if the file is up to date, and renders it otherwise.

    To know that, `remember` stores a hash of each rendered document, with which the next check compares the file.
    """

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._memory = memory
        self._rendered: dict[str, str] = {}

    def page(self, name: str) -> str:
        """Return the text of a document without its header; `name` is the file name below `docs/`."""
        if name not in self._rendered:
            self._rendered[name] = self._current_text(name) or self._renderer.page(name)
        return self._rendered[name]

    def remember(self) -> None:
        """Store the hashes of the rendered documents in the cache, for the next check."""
        digests = {name: generated_header.digest(text) for name, text in self._rendered.items()}
        if not digests.items() <= self._known_digests.items():
            self.snapshot.catalogue.keep(self.key, msgspec.msgpack.encode(self._known_digests | digests))

    @cached_property
    def _renderer(self) -> Renderer:
        return renderer(self._memory, self.snapshot)

    def _current_text(self, name: str) -> str | None:
        """Return the text of a document's file if it has the hash of its last rendering; else None."""
        if name not in self._known_digests:
            return None
        document = generated_header.split(documents.current_text(self.snapshot, f"{FOLDER}/{name}") or "")
        is_same = document is not None and generated_header.digest(document.text) == self._known_digests[name]
        return document.text if document is not None and is_same else None

    @cached_property
    def _known_digests(self) -> dict[str, str]:
        """The stored hashes of documents that were rendered from the present memory, by file name."""
        known = self.snapshot.catalogue.recall(self.key)
        return msgspec.msgpack.decode(known, type=dict[str, str]) if known else {}

    @cached_property
    def key(self) -> bytes:
        """A hash of everything that documents show except records.

        The stored hashes of documents are valid as long as it does not change. It covers pages, settings, templates,
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

"""Which pages have to do with a file: the sections that cover it, the references that mean it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from memctl.pages import freshness, repository_paths
from memctl.pages.freshness import MISSING
from memctl.record import mentions
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot


class Referral(msgspec.Struct, frozen=True):
    """A reference of a page that means, or may mean, a file; `state` is that of freshness.Reference."""

    page: Page
    reference: str
    state: str


def covering(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Page]]:
    """The sections that cover each of some files."""
    found: dict[str, list[Page]] = {path: [] for path in paths}
    for page in snapshot.outline.sections:
        for path in repository_paths.matching(paths, page.paths):
            found[path].append(page)
    return found


def referring(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Referral]]:
    """The references of pages that mean each of some files, there or gone, or a folder that such a file is in."""
    found: dict[str, list[Referral]] = {path: [] for path in paths}
    wanted = frozenset(found)
    for page in snapshot.outline.pages if wanted else ():
        if not _may_mean(page, wanted):  # most pages; to resolve a reference among all files takes much longer
            continue
        gone = wanted - snapshot.files.names()
        for ref in freshness.references(snapshot, page):
            meant: Iterable[str] = ref.paths
            if ref.state == MISSING:
                name = ref.reference.partition(":")[0]
                meant = repository_paths.resolve(gone, ref.reference[3:]) if ref.line else [name]
            hits = {item for item in meant if item in found}
            hits |= {path for item in meant if item.endswith("/") for path in wanted if path.startswith(item)}
            for path in sorted(hits if ref.state != MISSING else hits & gone):
                found[path].append(Referral(page, ref.reference, ref.state))
    return found


def _may_mean(page: Page, paths: frozenset[str]) -> bool:
    texts = [ref.partition(":")[0] for ref in page.code_refs]
    texts += [item.text[3:] for item in mentions.in_text(page.body) if item.text.startswith("§4.")]
    return any(repository_paths.resolve(paths, text) for text in texts)

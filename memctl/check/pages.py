"""Rules about pages: numbers, lengths, declared status, and rendered documents (MEM3xx)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memctl.check.files import special_files
from memctl.check.findings import CheckContext, Finding, unreadable
from memctl.pages import documents, generated_header, levels, sources
from memctl.pages.links import FOLDER, INDEX, SOURCES, document_of
from memctl.pages.template_values import BrokenTemplate
from memctl.record import content_fields, pages
from memctl.record.config import DEFAULT_BRANCH
from memctl.text import headings, markdown
from memctl.text.phrases import some

_TOLERANCE = 5  # percentage points between declared and mean status; rules.md#levels-of-pages
_FEW = 10  # records; the pages of details of a smaller memory may be short
_RENUMBER = "`memctl renumber` gives the later page or heading another number"


def readable(subject: CheckContext) -> Iterator[Finding]:
    """Report each page that can't be read."""
    yield from (unreadable(fault, "MEM301") for fault in subject.snapshot.outline.faults)


def numbers(subject: CheckContext) -> Iterator[Finding]:
    """Report each marker that two pages or headings have."""
    holders: dict[str, str] = {}
    for page in subject.snapshot.outline.pages:
        if page.id in holders:
            message = f"{holders[page.id]} has the id {page.id}, too"
            yield subject.at_key("MEM302", page.path, "id", message, _RENUMBER)
        holders.setdefault(page.id, page.path)
    for page in subject.snapshot.outline.details:
        start = subject.body_line(page.path, page.body)
        for part in pages.numbered_headings(page):
            place = f"{page.path}:{start + part.line - 1}"
            if part.id in holders:
                message = f"the heading at {holders[part.id]} has the number {part.id}, too"
                yield Finding("MEM302", page.path, start + part.line - 1, message, _RENUMBER)
            holders.setdefault(part.id, place)


def hierarchy(subject: CheckContext) -> Iterator[Finding]:
    """Report each section without a page of details, and each page of details whose section does not exist."""
    outline = subject.snapshot.outline
    broken = any(pages.kind_at(fault.path) is pages.SECTION for fault in outline.faults)
    for page in outline.sections:
        if not outline.details_of(page.id) and not any(name.startswith("§3") for name in subject.broken_pages):
            hint = f"`memctl page detail add TITLE --section {page.id}` adds a page"
            yield Finding("MEM303", page.path, 1, f"{page.id} has no page of details", hint)
    known = [page.id for page in outline.sections]
    for page in outline.details:
        if page.section not in known and not broken:
            hint = subject.near(page.section or "", known)
            message = f"section: there is no section {page.section}"
            yield subject.at_key("MEM304", page.path, "section", message, hint)


def status(subject: CheckContext) -> Iterator[Finding]:
    """Report the project's page if its percentage of completion differs much from the mean of its sections.

    Up to 5 percentage points are allowed.
    """
    project = subject.snapshot.outline.project
    mean = subject.snapshot.outline.mean_percentage
    broken = any(name.startswith("§2") for name in subject.broken_pages)
    if project is None or project.completion_percentage is None or mean is None or broken:
        return
    if round(abs(project.completion_percentage - mean), 6) > _TOLERANCE:
        message = (
            f"the project's page says {project.completion_percentage} % complete, but the mean of the sections is "
            f"{mean:.0f} %"
        )
        yield subject.at_key("MEM305", project.path, "completion_percentage", message)


def contents(subject: CheckContext) -> Iterator[Finding]:
    """Report the project's page if it is missing or incomplete, and each page of level 1 or 2 with a block of code.

    The project's page needs a goal, priorities and a percentage of completion. In a memory without any page it is not
    reported as missing. Code belongs on pages of details (level 3).
    """
    outline = subject.snapshot.outline
    if outline.project is not None:
        fields = content_fields.content(pages.PROJECT, outline.project.body)
        missing = [name for name in ("goal", "priorities") if not fields.get(name)]
        missing += ["completion_percentage"] if outline.percentage is None else []
        if missing:
            message = f"the project's page lacks {', '.join(missing)}"
            yield Finding("MEM311", outline.project.path, 1, message, "`memctl page project set` sets them")
    elif outline.pages and not any(fault.path == pages.PROJECT_PATH for fault in outline.faults):
        yield Finding("MEM311", pages.PROJECT_PATH, 1, "project.md is missing", "`memctl page project set` creates it")
    for page in outline.pages:
        if page.kind is not pages.DETAIL:
            lines = headings.outside_fences(page.body)
            number = next((n for n, (_, outside) in enumerate(lines) if not outside), None)
            if number is not None:
                line = subject.body_line(page.path, page.body) + number
                message = f"a page of level {page.kind.level} must not contain a block of code"
                yield Finding("MEM312", page.path, line, message, "move the code to a page of details (level 3)")


def lengths(subject: CheckContext) -> Iterator[Finding]:
    """Report each page with more or fewer tokens than pages of its level should have (`levels.LIMITS`).

    The page is counted as rendered, without the targets of links. In a memory with fewer than 10 records, a page of
    details is not reported for too few tokens.
    """
    is_small = len(subject.names) - len(subject.others) < _FEW
    for page in subject.snapshot.outline.pages:
        least, most = levels.LIMITS[page.kind.level]
        try:
            text = markdown.visible(subject.renderer.page(document_of(page)))
        except BrokenTemplate:
            continue  # `stale_documents` reports it
        if subject.counter.is_within(text, least, most):
            continue
        tokens = subject.counter.tokens(text)
        if tokens > most:
            message = f"{page.id} has {tokens:,} tokens; the limit of level {page.kind.level} is {most:,}"
            yield Finding("MEM306", page.path, 1, message)
        elif tokens < least and not (is_small and page.kind is pages.DETAIL):
            message = f"{page.id} has {tokens:,} tokens; level {page.kind.level} should have {least:,} or more"
            yield Finding("MEM307", page.path, 1, message)
    subject.renderer.remember()


def stale_documents(subject: CheckContext) -> Iterator[Finding]:
    """Report each document that is missing, outdated or edited by hand, and each whose page no longer exists."""
    if not subject.snapshot.config.docs or not subject.names:
        return
    is_elsewhere = not subject.has_documents and not subject.renderer.has_hashes
    comparisons = documents.compare(subject.renderer, force=is_elsewhere)
    subject.renderer.remember()
    for error in comparisons.faults.values():
        if not any(special_files(subject, error.path)):  # `files.unknown_files` reports special files
            message = f"the template can't be rendered: {error.why}"
            yield Finding("MEM308", error.path, error.line, message, error.hint or "")
    for path in comparisons.by_hand:
        hint = "make the edit in the record or page that the document shows, then run `memctl page render --force`"
        yield Finding("MEM309", path, 1, "the document was edited by hand", hint)
    if subject.has_documents and not (subject.snapshot.faults or subject.snapshot.outline.faults):
        yield from _outdated(subject, comparisons)  # else documents lack the invalid files, which other rules report


def _outdated(subject: CheckContext, comparisons: documents.Comparison) -> Iterator[Finding]:
    has_hashes = subject.renderer.has_hashes
    # With `docs: default-branch`, documents are stale after each merge, which is no error.
    is_behind = subject.snapshot.config.docs == DEFAULT_BRANCH
    stale, orphan = ("MEM314", "MEM314") if is_behind else ("MEM308", "MEM310")
    has_writer = is_behind and not has_hashes
    if has_writer and not subject.snapshot.names(FOLDER):
        message = "the documents were never rendered"
        yield Finding("MEM314", f"{FOLDER}/{INDEX}", 1, message, "`memctl page render` renders the documents")
        return
    for path, text in comparisons.stale.items():
        old = documents.current_text(subject.snapshot, path)
        if old is not None and not has_writer and generated_header.is_earlier(old, text):
            yield _of_earlier_memctl(path)
            continue
        differs = "the document differs from the records and pages that it shows"
        message = "the document is missing" if old is None else differs
        yield Finding(stale, path, _differs_at(old, text), message, "`memctl page render` renders the document")
    if comparisons.sources_earlier and not has_writer:
        yield _of_earlier_memctl(f"{FOLDER}/{SOURCES}")
    elif comparisons.sources_stale:
        message, path = "the list of source files is out of date", f"{FOLDER}/{SOURCES}"
        if not has_hashes:
            stale = "MEM314"  # whoever adds a file of code need not think of documents
            text = documents.current_text(subject.snapshot, path) or ""
            if gone := sources.difference(subject.snapshot, subject.renderer.links, text)[1]:
                message += f": {some(gone, 3)} {'are' if len(gone) > 1 else 'is'} gone or covered no more"
        yield Finding(stale, path, 1, message, "`memctl page render` renders the document")
    for path in comparisons.orphans:
        message = "the page that this document shows no longer exists"
        yield Finding(orphan, path, 1, message, "`memctl page render` deletes the document")


def _of_earlier_memctl(path: str) -> Finding:
    message = "an earlier version of memctl rendered this document"
    return Finding("MEM313", path, 1, message, "`memctl page render` renders the document again")


def _differs_at(old: str | None, new: str) -> int:
    if old is None:
        return 1
    pairs: Sequence[tuple[str, str]] = list(zip(old.split("\n"), new.split("\n"), strict=False))
    number = next((n for n, (one, other) in enumerate(pairs, 1) if one != other and n > 1), 1)
    return max(min(number, old.count("\n")), 1)

"""Rules about references to code, § markers and ids, in pages and records (MEM2xx)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memctl.check.findings import CheckContext, Finding, closest
from memctl.pages import freshness, repository_paths
from memctl.pages.renamed_files import RenamedCode
from memctl.record import mentions, pages
from memctl.record.change import is_final
from memctl.record.record import Record
from memctl.store.memory_root import CONFIG
from memctl.text.phrases import quantity

MISSING_CODE = ("MEM201", "MEM203", "MEM209")  # MEM210 replaces their findings
_MOST_GLOBS = 200  # per section to match against all files; people write a handful
_FEW = 10  # missing references that are listed one by one, even if all code is missing


def code_of_pages(subject: CheckContext) -> Iterator[Finding]:
    """Report each code reference of a page that leads to no file or folder, or to several."""
    beyond: list[tuple[str, str, str]] = []
    snapshot = subject.snapshot
    references = [(page, ref) for page in snapshot.outline.pages for ref in freshness.references(snapshot, page)]
    starts = {page.path: subject.body_line(page.path, page.body) for page in snapshot.outline.pages}
    for page, reference in references:
        line = starts[page.path] + reference.line - 1
        if not reference.line:
            line = subject.line_of(page.path, "code_refs", reference.reference)
        if reference.state == freshness.MISSING:
            message = f"{reference.reference} matches no file of the repository"
            yield _missing_code(subject, "MEM201", page.path, line, message, reference.reference)
        elif reference.state == freshness.AMBIGUOUS:
            some = ", ".join(reference.paths[:4]) + (" …" if len(reference.paths) > 4 else "")
            yield Finding("MEM202", page.path, line, f"{reference.reference} matches several files: {some}")
        elif not reference.line and reference.paths[0] != reference.reference:
            beyond.append((page.path, reference.reference, reference.paths[0]))
    yield from _missing_lines(subject, beyond)


def code_of_records(subject: CheckContext) -> Iterator[Finding]:
    """Report each code reference of an open record whose file or line does not exist."""
    beyond: list[tuple[str, str, str]] = []
    missing: list[tuple[Record, str, str]] = []
    references = [(record, ref) for record in subject.snapshot.open_records for ref in record.code_refs]
    names = subject.snapshot.files.names() if references else frozenset()
    for record, reference in references:
        path = reference if reference in names else pages.code_path(reference)
        if path in names:
            beyond += [(record.path, reference, path)] if path != reference else []
        elif not repository_paths.is_folder(names, path.rstrip("/")):
            missing.append((record, reference, path))
    for record, reference, path in missing:
        line = subject.line_of(record.path, "code_refs", reference)
        message = f"code_refs: {path} matches no file of the repository"
        yield _missing_code(subject, "MEM203", record.path, line, message, path)
    yield from _missing_lines(subject, beyond)


def _missing_lines(subject: CheckContext, missing: Sequence[tuple[str, str, str]]) -> Iterator[Finding]:
    lengths = subject.lengths(file for _, _, file in missing)
    for path, reference, file in missing:
        last = pages.last_line(reference)
        if last > lengths.get(file, last):
            message = f"code_refs: {file} has no line {last:,}; it has {quantity(lengths[file], 'line')}"
            yield subject.at_key("MEM204", path, "code_refs", message, value=reference)


def sections(subject: CheckContext) -> Iterator[Finding]:
    """Report each record whose section does not exist, unless the memory has no pages."""
    if not subject.snapshot.outline.pages:
        return
    for record in subject.snapshot.records:
        marker = record.section
        if marker and not marker.startswith("§4.") and not subject.has_marker(marker):
            message, hint = f"section: there is no section {marker}", subject.near(marker, subject.markers)
            yield subject.at_key("MEM205", record.path, "section", message, hint)


def mentions_of_pages(subject: CheckContext) -> Iterator[Finding]:
    """Report each § marker and id in a page's text that leads to nothing."""
    for page in subject.snapshot.outline.pages:
        for mention in mentions.in_text(page.body, subject.body_line(page.path, page.body)):
            if mention.text.startswith("§4."):
                continue  # `code_of_pages` reports references to code
            if (message := _dangling(subject, mention, has_pages=True)) is not None:
                code = "MEM205" if mention.text.startswith("§") else "MEM206"
                yield Finding(code, page.path, mention.line, message, _similar(subject, mention))


def mentions_of_records(subject: CheckContext) -> Iterator[Finding]:
    """Report each § marker and id in an open record's text that leads to nothing."""
    open_paths = {record.path for record in subject.snapshot.open_records}
    has_pages = bool(subject.snapshot.outline.pages)
    dangling: list[tuple[str, mentions.Mention, str]] = []
    for path, texts in subject.snapshot.catalogue.mentions().items():
        for mention in texts if path in open_paths else ():
            if mention.text == mentions.IGNORE:
                continue
            if (message := _dangling(subject, mention, has_pages)) is not None:
                dangling.append((path, mention, message))
    final = {record.path for record in subject.snapshot.open_records if is_final(record)} if dangling else set()
    for path, mention, message in dangling:
        is_code = mention.text.startswith("§4.")
        hint = _renamed_hint(subject.renamed, mention.text, is_final=path in final) if is_code else ""
        yield Finding("MEM207", path, mention.line, message, hint or _similar(subject, mention))


def _dangling(subject: CheckContext, mention: mentions.Mention, has_pages: bool) -> str | None:
    text = mention.text
    if text.startswith("§4."):
        if "*" in text or repository_paths.resolve(subject.snapshot.files.names(), text[3:]):
            return None
        return f"{text} matches no file of the repository"
    if text.startswith("§"):
        return f"there is no section or heading {text}" if has_pages and not subject.has_marker(text) else None
    return None if subject.has_id(text) else f"there is no record {text}"


def suspects(subject: CheckContext) -> Iterator[Finding]:
    """Report each file that has changed since a page that refers to it was reviewed."""
    for page in subject.snapshot.outline.pages:
        for drift in freshness.changed_files(subject.snapshot, page):
            message = f"{drift.path} has changed since {page.id} was reviewed"
            hint = f"read the page again, correct it if necessary, then run `memctl page review {page.id}`"
            yield subject.at_key("MEM208", page.path, "reviewed", message, hint, drift.stamped)


def globs(subject: CheckContext) -> Iterator[Finding]:
    """Report each glob of a section that matches no file."""
    empty: list[tuple[pages.Page, str]] = []
    names = subject.snapshot.files.names() if subject.snapshot.outline.sections else frozenset()
    for page in subject.snapshot.outline.sections:
        if len(page.paths) > _MOST_GLOBS:
            message = f"paths: only the first {_MOST_GLOBS} of {len(page.paths):,} globs are checked"
            yield subject.at_key("MEM209", page.path, "paths", message, value=page.paths[_MOST_GLOBS])
        wanted = (glob for glob in page.paths[:_MOST_GLOBS] if not glob.startswith("!"))
        empty += [(page, glob) for glob in wanted if not repository_paths.matching(names, [glob])]
    for page, glob in empty:
        new = subject.renamed.glob(glob)
        hint = f"the glob is {new} now: `memctl check --fix` writes it" if new else ""
        line = subject.line_of(page.path, "paths", glob)
        message = f"paths: {glob} matches no file"
        yield Finding("MEM209", page.path, line, message, hint, is_demoted=bool(new) and subject.is_staged)


def for_other_code(subject: CheckContext, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with those about missing code replaced by a single one if the memory belongs to other code.

    It seems to belong to other code, such as a copy of another project's memory, if 10 or more findings are about
    missing code, and nothing to which the memory refers exists in the repository, by its present or a former path.
    """
    missing = [finding for finding in findings if finding.code in MISSING_CODE]
    if len(missing) < _FEW or subject.renamed.paths or _has_some_code(subject):
        return list(findings)
    message = f"none of {len(missing):,} references to code matches a file of this repository"
    hint = (
        "the memory seems to belong to another project: move it to that project's repository, or correct its references"
        " (`memctl demo` creates memctl's example together with its code)"
    )
    rest = [finding for finding in findings if finding.code not in MISSING_CODE]
    return [*rest, Finding("MEM210", CONFIG, 1, message, hint)]


def _has_some_code(subject: CheckContext) -> bool:
    snapshot = subject.snapshot
    names = snapshot.files.names()
    return (
        any(reference.paths for page in snapshot.outline.pages for reference in freshness.references(snapshot, page))
        or any(freshness.code_paths(names, ref) for record in snapshot.records for ref in record.code_refs)
        or any(repository_paths.matching(names, page.paths) for page in snapshot.outline.sections)
    )


def _similar(subject: CheckContext, mention: mentions.Mention) -> str:
    return subject.near(mention.text, subject.markers if mention.text.startswith("§") else subject.by_id)


def _missing_code(subject: CheckContext, code: str, place: str, line: int, message: str, reference: str) -> Finding:
    """Before a commit a renamed file is a warning, since the commit that renames it should not wait for the memory."""
    hint = _renamed_hint(subject.renamed, reference)
    is_demoted = bool(hint) and subject.is_staged
    return Finding(code, place, line, message, hint or _suggest_file(subject, reference), is_demoted=is_demoted)


def _renamed_hint(renamed: RenamedCode, reference: str, *, is_final: bool = False) -> str:
    """`is_final` says that the reference is in a text that may not change any more."""
    new_paths = renamed.meanings(reference.removeprefix("§4."))
    if len(new_paths) > 1:
        return f"it may mean {' or '.join(new_paths[:3])} now: write the path that is meant"
    is_left = is_final or (reference.startswith("§4.") and not all(map(mentions.is_path, new_paths)))
    end = "" if is_left else ": `memctl check --fix` writes the new path"
    return f"the path is {new_paths[0]} now{end}" if new_paths else ""


def _suggest_file(subject: CheckContext, reference: str) -> str:
    if not reference.startswith("§4.") and (hint := repository_paths.glob_hint(reference, subject.snapshot.files)):
        return hint
    if not subject.may_suggest():
        return ""
    path = reference.removeprefix("§4.").partition(":")[0]
    base = path.rpartition("/")[2] if "/" in path else path.rpartition(".")[2]
    names = sorted(subject.snapshot.files.names())
    if repository_paths.in_other_form(names, path):
        return repository_paths.OTHER_FORM
    same = [name for name in names if name.rpartition("/")[2] == base or name.rpartition("/")[2].startswith(f"{base}.")]
    return f"did you mean {' or '.join(same[:3])}?" if same else closest(path, names)

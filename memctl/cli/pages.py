"""The commands `memctl page project`, `section` and `detail`, which write the pages of the memory.

The pages are the project's page, a page for each section, and pages of details of sections (levels 1 to 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import Group, at_option, command, complete, json_option, section_named
from memctl.cli.record_options import from_top, of_field
from memctl.cli.text_input import keep_if_refused, name_of, read, write_page
from memctl.cli.write_command import FLAGS, command_of, take_flags, write_options
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.pages.navigate import refuse_broken
from memctl.record import content_fields, frontmatter
from memctl.record.change import Change
from memctl.record.errors import FrontMatterError
from memctl.record.pages import DETAIL, PROJECT, PROJECT_ID, SECTION, Page, PageKind, kind_at
from memctl.record.required_text import refuse_placeholder
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.text import headings
from memctl.write import pages, transaction
from memctl.write.pages import Author, PageText, with_content


def _read_text(kind: PageKind, options: dict[str, Any], page: Page | None, title: str) -> tuple[PageText, str]:
    """Return the text of a page from options, file or editor, and the whole text that the editor saved ("" if unused).

    `page` is the existing page; `title` is the heading in the editor for a new one.
    """
    file, use_editor = options.pop("source"), options.pop("use_editor")
    text = _option_texts(kind, options)
    values = dict(text.values)
    if file is not None:
        heading, body = _from_file(file)
        values |= {"title": heading} if heading and "title" not in values else {}
        text = PageText(values, text.content, body)
    _refuse_stand_ins(text)
    if not use_editor:
        return text, ""
    is_new = page is None and text.body is None
    shown = _skeleton(kind, text) if is_new else _filled(kind, text, page)
    skeleton = [field.heading for field in kind.fields] if is_new else []
    written = write_page(f"# {values.get('title') or (page.title if page else title)}\n\n{shown}", skeleton)
    values |= {"title": written.title} if written.title else {}
    if is_new and not written.body.strip() and not set(values) - {"id", "section"}:
        raise MemctlError(
            "the edited text is empty, so nothing is recorded", "write a text below a heading, or give it by an option"
        )
    return PageText(values, {}, written.body), written.text


def _option_texts(kind: PageKind, options: dict[str, Any]) -> PageText:
    """An empty text, also alone in a list, clears the field."""
    fields = {field.name for field in kind.fields}
    values: dict[str, Any] = {}
    content: dict[str, str | list[str]] = {}
    for name, value in options.items():
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = [item for item in value if item.strip()]
        elif name in ("id", "section"):
            value = "§" + value.strip().removeprefix("§")
        elif name == "title":
            value = value.strip()
        (content if name in fields else values)[name] = value
    return PageText(values, content)


def _refuse_stand_ins(text: PageText) -> None:
    refuse_placeholder(text.values.get("title", ""), "title")
    for name, value in text.content.items():
        for item in [value] if isinstance(value, str) else value:
            refuse_placeholder(item, name)


def _from_file(file: str) -> tuple[str, str]:
    text = read(file)
    try:
        has_values = bool(frontmatter.read(text)[0])
    except FrontMatterError:
        has_values = False  # `---` may be a horizontal rule of Markdown
    if has_values:
        hint = "remove the front matter from the file, and give its values as options"
        raise MemctlError(f"{name_of(file)} begins with front matter", hint)
    return headings.take_title(text)


def _skeleton(kind: PageKind, text: PageText) -> str:
    parts = ((field.heading, content_fields.compose(field, text.content.get(field.name, ""))) for field in kind.fields)
    return "\n".join(part or f"## {heading}\n" for heading, part in parts)


def _filled(kind: PageKind, text: PageText, page: Page | None) -> str:
    body = text.body if text.body is not None else page.body if page else ""
    return with_content(kind, body.lstrip("\n"), text)


_MANY = "Repeatable; the values replace the present list."
_VALUES: dict[str, click.Option] = {
    "completion_percentage": click.Option(
        ["--completion", "completion_percentage"],
        type=click.IntRange(0, 100),
        help="How much of the work is done, in percent.",
    ),
    "weight": click.Option(
        ["--weight"],
        type=click.FloatRange(0, 1000, min_open=True),
        help="The weight of the section's completion in that of the project; usually 1.",
    ),
    "paths": click.Option(
        ["--path", "paths"],
        multiple=True,
        metavar="GLOB",
        callback=from_top,
        help=f"A glob of the section's code, such as src/auth/**. {_MANY}",
    ),
    "section": click.Option(
        ["--section"],
        metavar="§2.N",
        callback=section_named,
        shell_complete=complete("section"),
        help="The section that the details belong to, by number or name.",
    ),
    "code_refs": click.Option(
        ["--code", "code_refs"],
        multiple=True,
        metavar="PATH",
        callback=from_top,
        help=f"A file that the page is about. {_MANY}",
    ),
    "number": click.Option(
        ["--number", "id"], metavar="N.N", help="The number of the page. [default: the next free one]"
    ),
    "title": click.Option(["--title"], help="The title of the page."),
}
_TEXT = (
    click.Option(
        ["--file", "-f", "source"],
        metavar="FILE",
        help="Read the page's text from a Markdown file (- for standard input).",
    ),
    click.Option(["--edit", "-e", "use_editor"], is_flag=True, help="Write the page's text in your editor."),
    click.Option(["--strict"], is_flag=True, help="Refuse a path that does not exist, or a glob that matches no file."),
)


def _options(kind: PageKind, *names: str) -> list[click.Parameter]:
    return [*(_VALUES[name] for name in names), *(of_field(field, _MANY) for field in kind.fields), *_TEXT]


Plan = Callable[[Snapshot, Author], Change]
# A function of the memory and the options that returns a plan, and the text that the editor saved ("" if unused).
Prepare = Callable[[Memory, Snapshot, dict[str, Any]], tuple[Plan, str]]


def _carry_out(ctx: click.Context, given: dict[str, Any], prepare: Prepare) -> None:
    """The editor is open before anything is locked; refused text is kept in a file."""
    flags = take_flags(given)
    memory = memory_access.memory(ctx)
    author = Author(memory.actor, memory.now)
    plan, written = prepare(memory, load.disk(memory), given)
    with keep_if_refused(memory, written):
        result = transaction.carry_out(memory, lambda _: plan(load.disk(memory), author), write_options(flags))
    done = "removed " if result.change.deletes else ""
    lines = [f"{done}{result.change.ids[0]} {memory.tracked(path)}" for path in result.change.paths]
    write_command.outcome(memory, result, flags, lines)


def _is_given(options: dict[str, Any]) -> bool:
    return any(not (value is None or value is False or value == ()) for value in options.values())


def _refuse_changed(marker: str, before: Page | None, now: Page | None) -> None:
    """The page may have changed on the disk while its text was in the editor."""
    if now != before:
        raise MemctlError(
            f"the file of {marker} was changed while you edited its text",
            "run the command again, and edit the present text",
        )


def _set_project(ctx: click.Context, given: dict[str, Any]) -> None:
    def prepare(_: Memory, snapshot: Snapshot, options: dict[str, Any]) -> tuple[Plan, str]:
        refuse_broken(snapshot, PROJECT_ID)
        page = snapshot.outline.project
        text, written = _read_text(PROJECT, options, page, snapshot.config.project)

        def plan(now: Snapshot, author: Author) -> Change:
            if written:
                _refuse_changed(PROJECT_ID, page, now.outline.project)
            return pages.set_project(now, text, author)

        return plan, written

    if not _is_given({name: value for name, value in given.items() if name not in FLAGS}):
        raise MemctlError("no option says what to set", "`memctl page project set -h` lists the options", USAGE)
    _carry_out(ctx, given, prepare)


def _add(kind: PageKind) -> Callable[..., None]:
    def prepare(memory: Memory, _: Snapshot, options: dict[str, Any]) -> tuple[Plan, str]:
        text, written = _read_text(kind, options, None, "Title")
        former = pages.former_files(memory, kind)
        return lambda now, author: pages.add(now, kind, text, author, former), written

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _edit(kind: PageKind) -> Callable[..., None]:
    def prepare(_: Memory, snapshot: Snapshot, options: dict[str, Any]) -> tuple[Plan, str]:
        marker = options.pop("marker")
        page = pages.find(snapshot, marker, kind)
        options["use_editor"] |= not _is_given(options)
        text, written = _read_text(kind, options, page, page.title)

        def plan(now: Snapshot, author: Author) -> Change:
            if written:
                _refuse_changed(page.id, page, pages.find(now, marker, kind))
            return pages.edit(now, marker, kind, text, author)

        return plan, written

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _remove(kind: PageKind) -> Callable[..., None]:
    def prepare(_memory: Memory, _snapshot: Snapshot, options: dict[str, Any]) -> tuple[Plan, str]:
        return lambda now, _author: pages.remove(now, options["marker"], kind), ""

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _list(kind: PageKind) -> click.Command:
    @command(
        "list",
        (f"memctl page {kind.name} list", f"List all {kind.name}s by number."),
        (
            f"memctl page {kind.name} list --json --at v1.0",
            f"List the {kind.name}s of a release with their texts, as JSON.",
        ),
    )
    @json_option
    @at_option
    def list_pages(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
        memory = memory_access.memory(ctx)
        snapshot = memory_access.readable(memory, at)
        listed = [page for page in snapshot.outline.pages if page.kind is kind]
        faults = [fault for fault in snapshot.outline.faults if kind_at(fault.path) is kind]
        if as_json:
            output.answer(f"{kind.name}s", {"total": len(listed), "pages": listed}, faults, memory)
        elif listed:
            output.columns([_row(page) for page in listed])
        elif not faults:
            output.note(f"there are no {kind.name}s; `memctl page {kind.name} add TITLE` adds one")
        output.faults(memory, faults)
        ctx.exit(REFUSED if faults else OK)

    list_pages.help = f"List the {kind.name}s."
    return list_pages


def _row(page: Page) -> tuple[str, ...]:
    state = f"{page.completion_percentage} %" if page.completion_percentage is not None else ""
    about = ", ".join(page.paths) if page.kind is SECTION else f"of {page.section}"
    return page.id, state, page.title, about


def _marker(shown: str) -> click.Argument:
    return click.Argument(["marker"], metavar=shown, callback=section_named, shell_complete=complete("marker"))


def _group(kind: PageKind, text: str, add: click.Command, edit: click.Command) -> click.Group:
    group = Group(kind.name, help=text, no_args_is_help=False)
    marker = _marker(f"§{kind.level}.N")
    remove = command_of(
        "remove", _remove(kind), f"Remove a {kind.name}; Git keeps its text.",
        [marker, click.Option(["--discard"], is_flag=True, help="Also remove a page with uncommitted edits.")],
        (f"memctl page {kind.name} remove §{kind.level}.3", f"Remove a {kind.name} with no record or page below it."),
        (f"memctl page {kind.name} remove §{kind.level}.3 --dry-run", "Show what would be removed; remove nothing."),
    )  # fmt: skip
    for member in (add, edit, _list(kind), remove):
        group.add_command(member)
    return group


_TITLE = click.Argument(["title"], required=False)
_EDIT = "An option sets its field, an empty text clears it; other fields stay. Without options, your editor opens."
project_command = Group("project", help="Describe the project's purpose and status: level 1.", no_args_is_help=False)
project_command.add_command(
    command_of(
        "set",
        _set_project,
        "Set fields of the project's page. An option sets its field, an empty text clears it; other fields stay.",
        _options(PROJECT, "title", "completion_percentage"),
        ('memctl page project set --goal "An API for 50,000 users at once"', "Set the goal of the project."),
        (
            'memctl page project set --completion 45 --status "Payment in progress" --priority "PCI review"',
            "Set completion, status and priorities of the project.",
        ),
    )
)
section_command = _group(
    SECTION,
    "Describe the parts of the project: level 2.",
    command_of(
        "add", _add(SECTION), "Add a section.",
        [_TITLE, *_options(SECTION, "number", "completion_percentage", "weight", "paths")],
        ('memctl page section add "Payment" --path "src/payment/**" --overview "Takes money."',
         "Add a section with its code and its text."),
        ("memctl page section add --file payment.md", "Add a section with the text of a file (- for standard input)."),
        ('memctl page section add "Payment" --edit', "Add a section, and write its text in your editor."),
    ),
    command_of(
        "edit", _edit(SECTION), f"Change a section.\n\n{_EDIT}",
        [
            _marker("§2.N"),
            *_options(SECTION, "title", "completion_percentage", "weight", "paths"),
        ],
        ('memctl page section edit §2.3 --completion 60 --next "Refunds"', "Set completion and next action."),
        ('memctl page section edit §2.3 --status ""', "Clear the status of a section."),
        ("memctl page section edit §2.3", "Edit the text of a section in your editor."),
    ),
)  # fmt: skip
detail_command = _group(
    DETAIL,
    "Write down the details of a section: level 3.",
    command_of(
        "add", _add(DETAIL), "Add a page of details. Its `## ` headings get the markers §3.N.1, §3.N.2 and so on.",
        [_TITLE, *_options(DETAIL, "number", "section", "code_refs")],
        ('memctl page detail add "Tokens" --section §2.2 --code src/auth/jwt.py --file tokens.md',
         "Add a page of details with the text of a file."),
        ('memctl page detail add "Tokens" --section §2.2 --edit', "Add a page, and write its text in your editor."),
    ),
    command_of(
        "edit", _edit(DETAIL), f"Change a page of details.\n\n{_EDIT}",
        [_marker("§3.N"), *_options(DETAIL, "title", "section", "code_refs")],
        ("memctl page detail edit §3.1 --file tokens.md", "Replace the text of a page of details."),
        ("memctl page detail edit §3.1 --code src/auth/jwt.py --code src/auth/keys.py",
         "Set the files that a page of details is about."),
    ),
)  # fmt: skip

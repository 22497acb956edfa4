"""`project`, `section` and `detail`: the authored pages of levels 1 to 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memctl.cli import editor, opening, output, report
from memctl.cli.command import Command, Group, at_option, command, how, json_option, writing
from memctl.errors import USAGE, MemctlError
from memctl.lifecycle import door, pages
from memctl.lifecycle.pages import Author, Text
from memctl.model import headings
from memctl.model.change import Change
from memctl.model.pages import DETAIL, PROJECT, SECTION, Page, PageKind
from memctl.model.snapshot import Snapshot
from memctl.store import load

_VALUES: dict[str, click.Option] = {
    "completion_percentage": click.Option(
        ["--completion", "completion_percentage"], type=click.IntRange(0, 100), help="How far it is, in percent."
    ),
    "weight": click.Option(
        ["--weight"], type=click.FloatRange(0, 1000, min_open=True), help="What it counts in the project's status."
    ),
    "paths": click.Option(
        ["--path", "paths"], multiple=True, metavar="GLOB", help="Code it covers, such as src/auth/**. Repeatable."
    ),
    "section": click.Option(["--section"], metavar="§2.N", help="The section whose details these are."),
    "code_refs": click.Option(
        ["--code", "code_refs"], multiple=True, metavar="PATH", help="A file it is about. Repeatable."
    ),
    "number": click.Option(["--number", "id"], metavar="N.N", help="Its number. [default: the next free one]"),
    "title": click.Option(["--title"], help="Its title."),
}
_FLAGS = ("dry_run", "no_commit", "allow_secret", "reason", "as_json")
_TEXT = (
    click.Option(["--file", "-f", "source"], metavar="FILE", help="Take the text from a Markdown file (- for stdin)."),
    click.Option(["--edit", "-e", "use_editor"], is_flag=True, help="Write the text in your editor."),
)


def _command(
    name: str, run: Callable[..., None], text: str, params: list[click.Parameter], *examples: tuple[str, str]
) -> Command:
    """A writing command with options made from the fields of a kind of page."""

    def callback(**given: Any) -> None:
        run(click.get_current_context(), given)

    function: Callable[..., Any] = writing(callback)
    made = Command(name, callback=function, help=text, examples=examples)
    made.params = [*params, *reversed(getattr(function, "__click_params__", []))]
    return made


def _options(kind: PageKind, *names: str) -> list[click.Parameter]:
    fields = [
        click.Option(
            [f"--{field.option}", field.name],
            multiple=field.is_list,
            metavar="TEXT",
            help=field.help + (" Repeatable; replaces those there are." if field.is_list else ""),
        )
        for field in kind.fields
    ]
    return [*(_VALUES[name] for name in names), *fields, *_TEXT]


def _text(kind: PageKind, given: dict[str, Any], current: str) -> Text:
    """What the options say of a page."""
    source, use_editor = given.pop("source"), given.pop("use_editor")
    fields = {field.name for field in kind.fields}
    named = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    named = {name: value for name, value in named.items() if value not in (None, [])}
    for name in ("id", "section"):
        if name in named:
            named[name] = "§" + str(named[name]).strip().removeprefix("§")
    body: str | None = None
    if source or use_editor:
        from memctl.cli.source import read

        title, body = headings.take_title(read(source) if source else editor.open_editor(current))
        if title and "title" not in named:
            named["title"] = title
    given["body"], given["is_edited"] = body, use_editor
    values = {name: value for name, value in named.items() if name not in fields}
    return Text(values, {name: value for name, value in named.items() if name in fields}, body)


Plan = Callable[[Snapshot, Author], Change]


def _carry_out(ctx: click.Context, given: dict[str, Any], prepare: Callable[[Snapshot, dict[str, Any]], Plan]) -> None:
    """Carry a command out. What is written in an editor is written before anything is locked, and kept if refused."""
    flags = {name: given.pop(name) for name in _FLAGS}
    flags["discard"] = given.pop("discard", False)
    memory = opening.memory(ctx)
    author = Author(memory.actor, memory.now)
    is_edited = bool(given.get("use_editor"))
    plan = prepare(load.disk(memory), given)
    is_edited = is_edited or bool(given.get("is_edited"))
    with editor.kept(memory, str(given.get("body") or "") if is_edited else ""):
        result = door.carry_out(memory, lambda _: plan(load.disk(memory), author), how(flags))
    lines = [f"{result.change.ids[0]} {memory.tracked(path)}" for path in result.change.paths]
    report.outcome(memory, result, as_json=flags["as_json"], dry_run=flags["dry_run"], lines=lines)


def _is_given(options: dict[str, Any]) -> bool:
    return any(not (value is None or value is False or value in ((), "")) for value in options.values())


def _set_project(ctx: click.Context, given: dict[str, Any]) -> None:
    def prepare(snapshot: Snapshot, options: dict[str, Any]) -> Plan:
        text = _text(PROJECT, options, _current(PROJECT, snapshot.outline.project))
        return lambda now, author: pages.set_project(now, text, author)

    if not _is_given({name: value for name, value in given.items() if name not in _FLAGS}):
        raise MemctlError("nothing to set was given", "`memctl project set -h` shows what can be", USAGE)
    _carry_out(ctx, given, prepare)


def _add(kind: PageKind) -> Callable[..., None]:
    def prepare(_: Snapshot, options: dict[str, Any]) -> Plan:
        text = _text(kind, options, _current(kind, None))
        return lambda now, author: pages.add(now, kind, text, author)

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _edit(kind: PageKind) -> Callable[..., None]:
    def prepare(snapshot: Snapshot, options: dict[str, Any]) -> Plan:
        marker = options.pop("marker")
        page = pages.find(snapshot, marker, kind)
        old = snapshot.read(page.path)
        if not _is_given(options):
            options["use_editor"] = True
        is_edited = options["use_editor"]
        text = _text(kind, options, _current(kind, page))

        def plan(now: Snapshot, author: Author) -> Change:
            if is_edited and now.read(page.path) != old:
                raise MemctlError(f"{page.id} was changed while you edited it", "edit it again")
            return pages.edit(now, marker, kind, text, author)

        return plan

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _remove(kind: PageKind) -> Callable[..., None]:
    def prepare(_: Snapshot, options: dict[str, Any]) -> Plan:
        return lambda now, _author: pages.remove(now, options["marker"], kind)

    return lambda ctx, given: _carry_out(ctx, given, prepare)


def _current(kind: PageKind, page: Page | None) -> str:
    """What the editor begins with: the page, or the headings that it may have."""
    if page is not None:
        return f"# {page.title}\n\n{page.body}"
    return "# Title\n\n" + "\n".join(f"## {field.heading}\n" for field in kind.fields)


def _list(kind: PageKind) -> click.Command:
    @command("list", (f"memctl {kind.name} list --json", "All pages of this kind, for a program."))
    @json_option
    @at_option
    @click.pass_context
    def list_pages(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
        memory = opening.memory(ctx)
        snapshot = opening.snapshot(memory, at)
        found = [page for page in snapshot.outline.pages if page.kind is kind]
        faults = snapshot.outline.faults
        if as_json:
            output.json(f"{kind.name}s", [output.page_data(memory, page) for page in found], faults, memory)
        else:
            output.columns([_row(page) for page in found])
            if not found:
                output.note(f"there are none; `memctl {kind.name} add TITLE` makes one")
        for fault in faults:
            output.note(f"warning: {memory.prefix}/{output.plain(str(fault))}")

    list_pages.help = f"List the {kind.name}s."
    return list_pages


def _row(page: Page) -> tuple[str, ...]:
    state = f"{page.completion_percentage} %" if page.completion_percentage is not None else ""
    about = ", ".join(page.paths) if page.kind is SECTION else f"of {page.section}"
    return page.id, state, page.title, about


def _group(kind: PageKind, text: str, add: click.Command, edit: click.Command) -> click.Group:
    group = Group(kind.name, help=text)
    marker = click.Argument(["marker"], metavar=f"§{kind.level}.N")
    remove = _command(
        "remove", _remove(kind), f"Take a {kind.name} away; Git keeps it.",
        [marker, click.Option(["--discard"], is_flag=True, help="Let text go that is in no commit.")],
        (f"memctl {kind.name} remove §{kind.level}.3", "Only if nothing belongs to it any more."),
    )  # fmt: skip
    for member in (add, edit, _list(kind), remove):
        group.add_command(member)
    return group


_TITLE = click.Argument(["title"], required=False)
project_command = Group("project", help="Say what the project is for and where it stands: level 1.")
project_command.add_command(
    _command(
        "set",
        _set_project,
        "Set what is given of the project's page; the rest stays.",
        _options(PROJECT, "title", "completion_percentage"),
        ('memctl project set --goal "An API for 50,000 users at once"', "Say what it is all for."),
        (
            'memctl project set --completion 45 --status "Payment in progress" --priority "PCI review"',
            "Declare the status, and what comes first.",
        ),
    )
)
section_command = _group(
    SECTION,
    "Describe the parts of the project: level 2.",
    _command(
        "add", _add(SECTION), "Add a section.",
        [_TITLE, *_options(SECTION, "number", "completion_percentage", "weight", "paths")],
        ('memctl section add "Payment" --path "src/payment/**" --overview "Takes money."', "Add a section."),
    ),
    _command(
        "edit", _edit(SECTION), "Change what is given of a section; without options, its text in your editor.",
        [
            click.Argument(["marker"], metavar="§2.N"),
            *_options(SECTION, "title", "completion_percentage", "weight", "paths"),
        ],
        ('memctl section edit §2.3 --completion 60 --next "Refunds"', "Say how far it is and what comes next."),
        ("memctl section edit §2.3", "Write in your editor."),
    ),
)  # fmt: skip
detail_command = _group(
    DETAIL,
    "Write down the details of a section: level 3.",
    _command(
        "add", _add(DETAIL), "Add a page of details. Its `## ` headings become §3.N.1, §3.N.2 and so on.",
        [_TITLE, *_options(DETAIL, "number", "section", "code_refs")],
        ('memctl detail add "Tokens" --section §2.2 --code src/auth/jwt.py --file tokens.md', "From a file."),
    ),
    _command(
        "edit", _edit(DETAIL), "Change what is given of a page of details; without options, its text in your editor.",
        [click.Argument(["marker"], metavar="§3.N"), *_options(DETAIL, "title", "section", "code_refs")],
        ("memctl detail edit §3.1 --file tokens.md", "Give it another text."),
        ("memctl detail edit §3.1 --code src/auth/jwt.py --code src/auth/keys.py", "Say which files it is about."),
    ),
)  # fmt: skip

"""What commands share: decorators for options, groups of commands, and help that begins with examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, TypeVar

import click

from memctl.errors import CredentialFound

_OF_FILES = ("FILE", "PATH", "DIR", "PLACE")  # metavars
_LARGEST = 2**31 - 1
F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose help begins with examples.

    An example is a pair of a command line and a sentence that says what this command line does.
    """

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", {}).setdefault("help_option_names", ["-h", "--help"])
        super().__init__(*args, **kwargs)
        self.examples = examples
        for param in self.params:
            if param.type is click.STRING and any(word in (param.metavar or "") for word in _OF_FILES):
                param.type = click.Path()  # lets shells complete names of files

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; if a text is refused because it has a credential, add a hint to the error.

        The hint says that --allow-secret allows the text. An agent that may not use this option gets no such hint.
        """
        try:
            return super().invoke(ctx)
        except CredentialFound as error:
            from memctl.store import agent_env

            has_option = any(param.name == "allow_secret" for param in ctx.command.params)
            is_for_people = agent_env.may_run_unasked(_command_name(ctx), os.environ)
            if has_option and ctx.invoked_subcommand is None and not is_for_people:
                error.hint = f"{error.hint}, or give --allow-secret to accept this text"
            raise

    def shown_examples(self, ctx: click.Context) -> Sequence[tuple[str, str]]:
        """Return the examples at the beginning of the help: pairs of a command line and its purpose."""
        return self.examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        if examples := self.shown_examples(ctx):
            with formatter.section("Examples"):
                for line, meaning in examples:
                    indent = " " * formatter.current_indent
                    formatter.write(f"{indent}{line}\n{indent}    {meaning}\n")
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)


def command(
    name: str, *examples: tuple[str, str], group: click.Group | None = None, cls: type[Command] = Command
) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that makes a memctl command of a function; the function's docstring is the command's help.

    The command is called `name`, and becomes a subcommand of `group` if one is given. `cls` is its class. The function
    gets click's context, then the values of its arguments and options by name.
    """

    def make(function: Callable[..., Any]) -> Command:
        made = click.command(name, cls=cls, examples=examples)(click.pass_context(function))
        if group is not None:
            group.add_command(made)
        return made

    return make


def options(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return one decorator that applies all of `decorators`, each of which adds an option.

    The help lists the options in the order of the decorators.
    """

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def text_option(*names: str, help: str, metavar: str = "TEXT", **more: Any) -> Callable[[F], F]:
    """Return a decorator for an option whose value is a text, "" if it is not given.

    If the help ends in "Repeatable.", the option may be given several times. `names` and `more` are as for
    `click.option`.
    """
    is_repeatable = help.endswith("Repeatable.")
    default = () if is_repeatable else ""
    return click.option(*names, help=help, metavar=metavar, default=default, multiple=is_repeatable, **more)


def text_options(*rows: tuple[str, str, str], **more: Any) -> Callable[[F], F]:
    """Return a decorator that adds several options whose value is a text.

    Each row has the option's flag, such as "--title", the name of the parameter, and the help. `more` is what they have
    in common, as for `text_option`.
    """
    return options(*(text_option(flag, name, help=text, **more) for flag, name, text in rows))


def flag_option(*names: str, **more: Any) -> Callable[[F], F]:
    """Return a decorator for an option without a value; `names` and `more` are as for `click.option`."""
    return click.option(*names, is_flag=True, **more)


def number_option(*names: str, least: int = 1, **more: Any) -> Callable[[F], F]:
    """Return a decorator for an option whose value is a whole number of at least `least`; the help shows its default.

    `names` and `more` are as for `click.option`.
    """
    return click.option(*names, type=_Number(min=least), show_default=True, **more)


class _Number(click.IntRange):
    """A whole number; larger ones than SQLite has mean the largest, which is more than there is of anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of a text; fails as click.IntRange does, or with what to give if the text is no number."""
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number; give one of at least {self.min}.", param, ctx)
        return min(int(super().convert(value, param, ctx)), _LARGEST)


def choice_option(*names: str, among: Iterable[str], **more: Any) -> Callable[[F], F]:
    """Return a decorator for an option whose value is one of `among`; the help shows its default.

    `names` and `more` are as for `click.option`.
    """
    return click.option(*names, type=click.Choice(list(among)), show_default=True, **more)


def limit_option(default: int, text: str = "Show at most this many entries; 0 shows all.") -> Callable[[F], F]:
    """Return a decorator for `--limit`: how many items a list prints, by default `default`; `text` is its help."""
    return number_option("--limit", least=0, default=default, help=text)


json_option = flag_option("--json", "as_json", help="Print JSON: an object with the keys schema, kind and data.")
at_option = click.option("--at", "at", metavar="REV", help="Read the memory as it was at a commit, branch or tag.")
# The options of every command that reads records.
reading = options(at_option, json_option)


def for_people(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return the value of an option that can do harm, such as read any file; raises MemctlError if an agent gives it.

    An agent is only refused if it may run the command without asking the user. For any other command the user is asked,
    and sees the option. An empty value and `-` (standard input) are always allowed. This is a callback of click's.
    """
    if value and value != "-":
        from memctl.store import agent_env

        agent_env.refuse(param.opts[0], _command_name(ctx), os.environ)
    return value


def _command_name(ctx: click.Context) -> str:
    """Return the command's name without `memctl`, and without the group of a member, such as "session end", "index"."""
    from memctl.cli.command_list import GROUPS

    first, _, rest = ctx.command_path.partition(" ")[2].partition(" ")
    is_member = rest.partition(" ")[0] in GROUPS.get(first, ())
    return rest if is_member else f"{first} {rest}".strip()


Completer = Callable[[click.Context, click.Parameter, str], list[Any]]


def complete(kind: str) -> Completer:
    """Return a function that suggests values of a kind, such as "id" or "tag", while a user types in a shell.

    The function is meant for `shell_complete` of an option or argument. `completion_values` lists the kinds.
    """

    def completer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        candidates = import_module("memctl.cli.completion_values")  # needed for completion only, not to run a command
        suggestions: list[Any] = candidates.values_beginning(kind, ctx, incomplete)
        return suggestions

    return completer


complete_id = complete("id")


def section_named(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return the marker of the section that an option names, such as "§2.3" for "Payment".

    This is a callback of click's. A number, a marker and an empty value are returned unchanged; the command itself
    checks whether such a section exists.
    """
    if isinstance(value, tuple):
        return tuple(section_named(ctx, param, name) for name in value)
    if not isinstance(value, str) or value.strip()[:1] in ("", *"§0123456789") or ctx.resilient_parsing:
        return value
    from memctl.store import load
    from memctl.store.memory import open_memory

    return load.disk(open_memory(ctx.obj.folder, os.environ)).outline.find_by_title(value).id


def split_at_commas(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags that an option names: `-t a,b` and `-t a -t b` both give a and b.

    This is a callback of click's.
    """
    return tuple(tag.strip() for text in values for tag in text.split(",") if tag.strip())


def filtering(function: F, more_types: Sequence[str] = ()) -> F:
    """Add to a command's function the options that filter records, such as --type, --tag and --since.

    `list`, `search` and `export` have these options. `more_types` are further values that `--type` may have.
    """
    from memctl.record.kinds import KINDS, SEVERITIES

    what = "results" if more_types else "records"
    statuses = list(dict.fromkeys(status for kind in KINDS.values() for status in kind.statuses))
    choices = (
        ("type", "types", [*KINDS, *more_types]),
        ("status", "statuses", statuses),
        ("severity", "severities", SEVERITIES),
    )
    return options(
        *(
            click.option(
                f"--{name}",
                plural,
                multiple=True,
                type=click.Choice(among),
                help=f"Only {what} with this {name}. Repeatable.",
            )
            for name, plural, among in choices
        ),
        click.option(
            "--tag",
            "-t",
            "tags",
            multiple=True,
            callback=split_at_commas,
            shell_complete=complete("tag"),
            help="Only records with this tag; if repeated, with all of the tags.",
        ),
        click.option(
            "--importance",
            type=click.IntRange(1, 10),
            default=None,
            help="Only records of this importance (1 to 10) or a higher one.",
        ),
        text_option(
            "--section",
            callback=section_named,
            shell_complete=complete("section"),
            help="Only records of this section (2.1, or its name) and of its pages of details.",
        ),
        text_option("--agent", help="Only records that this agent created."),
        text_option(
            "--assignee",
            metavar="NAME",
            shell_complete=complete("assignee"),
            help="Only issues and states that this person or agent works on: a whole name or a word of it.",
        ),
        text_options(
            ("--since", "since", "Only records since this time: 2025-11-04, or 7d for seven days ago."),
            ("--until", "until", "Only records up to this time: 2025-11-04, or 7d for seven days ago."),
            metavar="TIME",
        ),
        flag_option("--open", "is_open", help="Only open records: neither closed nor archived."),
        flag_option("--archived", help="Only archived records."),
        flag_option("--all", "everything", help="Also include archived records."),
    )(function)


_WHOLE = 1000  # characters; longer than the first sentence of any command's help


class Group(Command, click.Group):
    """A command with subcommands, which are listed in its help.

    The help begins with the group's own examples or, if it has none, with the first example of each subcommand. The
    group alone runs the subcommand `default`, "" for none.
    """

    def __init__(self, *args: Any, default: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or [self.default] if self.default else args)

    def shown_examples(self, ctx: click.Context) -> Sequence[tuple[str, str]]:
        """Return the examples of the group; if it has none, return the first example of each subcommand."""
        members = [command for _, command in self._subcommands(ctx) if isinstance(command, Command)]
        return self.examples or [command.examples[0] for command in members if command.examples]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in self._subcommands(ctx)])

    def _subcommands(self, ctx: click.Context) -> list[tuple[str, click.Command]]:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        return [(name, command) for name, command in commands if command is not None and not command.hidden]

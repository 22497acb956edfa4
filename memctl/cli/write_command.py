"""What all commands that write share: their options, and the report on what was written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memctl.cli import output
from memctl.cli.command import Command, flag_option, for_people, json_option, options
from memctl.errors import USAGE, MemctlError
from memctl.record.change import WriteOptions
from memctl.record.required_text import InvalidFields, refuse_placeholder
from memctl.store.memory import Memory

if TYPE_CHECKING:
    from memctl.write.commit import Outcome
    from memctl.write.transaction import Plan

FLAGS = ("reason", "dry_run", "no_commit", "allow_secret", "allow_owned", "discard", "strict", "as_json")

# The verbs among the operations of changes, which confirmations have in the past tense.
_VERBS = (
    "accept add archive commit decline delete edit fix import link maintain merge redact release remove rename render "
    "renumber reopen resolve restore retract review squash summarize supersede sync unarchive undo unlink upgrade "
    "withdraw"
)
_IRREGULAR = {"commit": "committed", "undo": "undid", "withdraw": "withdrew"}


def take_flags(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options that all writing commands have, such as --dry-run, from `given`, and return them.

    `given` has the values of a command's options by the names of their parameters. The result has the same form.
    """
    return {name: given.pop(name) for name in FLAGS if name in given}


def write_options(flags: Mapping[str, Any]) -> WriteOptions:
    """Return the options that all writing commands have (see `take_flags`) as functions of `write/` take them."""
    return WriteOptions(**{name: value for name, value in flags.items() if name != "as_json"})


@contextmanager
def naming_options(ctx: click.Context) -> Iterator[None]:
    """Add the names of options to errors about fields that are raised within a `with` block.

    Each message of an InvalidFields error gets the option that sets the field, such as "(--severity)".
    """
    try:
        yield
    except InvalidFields as error:
        options = {param.name: param.opts[0] for param in ctx.command.params if isinstance(param, click.Option)}
        messages = [f"{m} ({options[f]})" if f in options else m for f, m in error.fields]
        fields = [(field, message) for (field, _), message in zip(error.fields, messages, strict=True)]
        raise InvalidFields(error.title, fields, error.hint, error.exit_code) from None


def real_text(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return the value of an option; raises MemctlError if it is a placeholder such as "TODO".

    This is a callback of click's. The value of a repeatable option is a tuple, in which no text may be empty.
    """
    name = param.opts[0] if isinstance(param, click.Option) else str(param.human_readable_name)
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(value, tuple) and not text.strip():
            raise MemctlError(*_empty(param), USAGE)
        refuse_placeholder(text or "", name)
        is_path = text and text.startswith("@") and not ctx.resilient_parsing
        if is_path and os.path.isfile(ctx.obj.folder / text[1:]):
            hint = f"give the text of the file, as in {name} \"$(cat '{text[1:]}')\""
            raise MemctlError(f"{name} takes a text, and no file: {text} would be recorded as it stands", hint, USAGE)
    return value


def not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the value of an option; raises MemctlError for an empty text, and for a placeholder such as "TODO".

    This is a callback of click's.
    """
    is_given = ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
    if is_given and value is not None and not value.strip():
        raise MemctlError(*_empty(param), USAGE)
    real_text(ctx, param, value)
    return value


def _empty(param: click.Parameter) -> tuple[str, str]:
    return f"{param.opts[0]} has an empty text", f"give a text, or leave {param.opts[0]} out"


strict_option = flag_option(
    "--strict", help="Write nothing if memctl has a hint about the text, such as that a decision lacks a reason."
)
discard_option = flag_option("--discard", help="Go on even if uncommitted edits of the record are lost.")


# The options of every command that changes the memory.
writing = options(
    json_option,
    click.option("--reason", default="", help="Why you make this change; `memctl log` shows the reason."),
    flag_option("--dry-run", "-n", help="Show what would be written, and write nothing."),
    flag_option("--no-commit", help="Write the files, and leave their commit to `memctl commit`."),
    flag_option("--allow-secret", callback=for_people, help="Accept text that looks like a credential."),
    flag_option(
        "--allow-owned", callback=for_people, help="Write to a section that another agent owns; needs --reason."
    ),
)


def command_of(
    name: str,
    run: Callable[[click.Context, dict[str, Any]], None],
    text: str,
    params: Sequence[click.Parameter],
    *examples: tuple[str, str],
    last: Callable[[Any], Any] = writing,
) -> Command:
    """Return a command that changes the memory, with parameters that depend on a kind of record or page.

    `run` gets the values of the options by the names of their parameters, `text` is the help, and `last` is a decorator
    that adds the options behind `params`.
    """
    callback = last(lambda **given: run(click.get_current_context(), given))
    params = [*params, *reversed(callback.__click_params__)]
    return Command(name, callback=callback, params=params, help=text, examples=examples)


def carry_out(memory: Memory, plan: Plan, flags: Mapping[str, Any]) -> None:
    """Write and commit the change that the function `plan` returns, and print the result (see `outcome`).

    `plan` is called with the generator of new ids, while a lock keeps other processes from writing to the memory.
    `flags` are the options that all writing commands have (see `take_flags`).
    """
    from memctl.write import transaction

    outcome(memory, transaction.carry_out(memory, plan, write_options(flags)), flags)


def outcome(memory: Memory, result: Outcome, flags: Mapping[str, Any], lines: Iterable[str] = ()) -> None:
    """Print the result of a write: what was done, and on standard error whether a commit is still pending.

    `lines` say what was done; by default that is a summary of the change. `flags` are the options that all writing
    commands have (see `take_flags`): with --json the result is printed as JSON, and with --dry-run what would be
    written.
    """
    change = result.change
    if flags["as_json"]:
        output.json("change", change_data(memory, result, flags["dry_run"]))
        return
    if flags["dry_run"]:
        _print_change(memory, result)
        advice(result)
        return
    shown = list(lines)
    if change.is_empty:
        output.note("nothing to change")
    elif not shown:
        shown = [f"{past_tense(change.op)} {change.title}"]
    for line in shown:
        output.one_line(line)
    pending(result)
    advice(result)


def past_tense(op: str) -> str:
    """Return what an operation did: "reviewed" for "review", "edited section" for "edit-section".

    An operation whose name is not a known verb is returned unchanged.
    """
    verb, _, rest = op.partition("-")
    if verb not in _VERBS.split():
        return op
    done = _IRREGULAR.get(verb) or (f"{verb}d" if verb.endswith("e") else f"{verb}ed")
    return f"{done} {rest}".rstrip()


def advice(result: Outcome) -> None:
    """Print hints on standard error on what the written records lack, such as a reason."""
    output.note(*(output.plain(f"hint: {line}") for line in result.advice))


def pending(result: Outcome) -> None:
    """Print on standard error that the commit of a change is pending, why, and what to do.

    Nothing is printed if the change is committed.
    """
    if result.warning:
        output.note(f"warning: {result.warning}")
    if result.pending:
        output.note(f"commit pending: {result.pending}")
        output.note(f"hint: {result.hint}")


def change_data(memory: Memory, result: Outcome, dry_run: bool) -> dict[str, Any]:
    """Return the result of a write as the data that --json prints; for a dry run, with the files to be written."""
    change = result.change
    data: dict[str, Any] = {
        "op": change.op,
        "ids": list(change.ids),
        "paths": [output.name(memory.tracked(path)) for path in result.paths],
        "documents": [memory.tracked(path) for path in result.documents],
        "changed": not change.is_empty,
        "commit": result.commit or None,
        "pending": result.pending or None,
        "warning": result.warning or None,
        "advice": list(result.advice),
    }
    if dry_run:
        data["writes"] = {memory.tracked(write.path): write.text for write in change.writes}
        data["deletes"] = [memory.tracked(delete.path) for delete in change.deletes]
    return data


def _print_change(memory: Memory, result: Outcome) -> None:
    change = result.change
    output.one_line(f"would {change.op} {change.title}" if not change.is_empty else "nothing would change")
    for write in change.writes:
        name = memory.tracked(write.path)
        before = f"a/{name}" if write.old is not None else "/dev/null"
        old, new = (write.old or "").removesuffix("\n"), write.text.removesuffix("\n")
        difference(old.split("\n") if old else [], new.split("\n"), before, f"b/{name}")
    for delete in change.deletes:
        output.text(f"would delete {memory.tracked(delete.path)}")


def diff(lines: str) -> None:
    """Print a unified diff; on a terminal it has colours."""
    shown = output.plain(lines.rstrip("\n"))
    if sys.stdout.isatty():
        shown = "\n".join(map(_painted, shown.split("\n")))
    output.styled(shown)


def difference(old: Sequence[str], new: Sequence[str], before: str, after: str) -> None:
    """Print the difference between the old and the new lines of a file as a unified diff; nothing if they are equal.

    `before` and `after` are the names of the two versions in the diff's header.
    """
    from difflib import unified_diff

    for line in unified_diff(old, new, before, after, lineterm=""):
        diff(line)


def _painted(line: str) -> str:
    if line.startswith(("+++", "---", "diff ")):
        return click.style(line, bold=True)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return click.style(line, fg=colours[line[0]]) if line[:1] in colours else line

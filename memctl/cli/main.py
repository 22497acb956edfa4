"""The command `memctl`: it imports only the subcommand that is called, and prints the errors of all subcommands."""

from __future__ import annotations

import errno
import os
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import click

from memctl import __version__
from memctl.cli import terminal
from memctl.cli.command import flag_option
from memctl.cli.command_list import GROUPS, MODULES, PAGED, SYNONYMS, all_commands, load, of_kinds, write_help
from memctl.cli.startup import Start
from memctl.errors import BUG, INTERRUPTED, OK, UNANSWERED, USAGE, MemctlError, incomplete_installation


def _command_of(name: str) -> click.Command | None:
    if (kind := of_kinds().get(name)) is None:
        return None
    from memctl.cli import create

    return create.command(kind)


class Memctl(click.Group):
    """The group of all commands. Only the command that is called is imported, so that each starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in all_commands().values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load(cmd_name) if cmd_name in MODULES else _command_of(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in SYNONYMS:
            args = [*SYNONYMS[args[0]].split(), *args[1:]]
        if args and args[0] not in MODULES and args[0] not in of_kinds() and not args[0].startswith("-"):
            from memctl.cli import usage_errors

            raise usage_errors.unknown_command(args[0], [*self.list_commands(ctx), *chain(*GROUPS.values())])
        ctx.obj.work_in(ctx.params.get("folder"))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help(formatter, ctx.command_path)


@click.group(
    cls=Memctl,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    help="Keep a project's decisions, issues, states and learnings in its Git repository.",
)
@click.option(
    "-C",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Run memctl as if it were started in the folder DIR.",
)
@flag_option("--no-pager", help="Print long output without a pager.")
@click.version_option(__version__, prog_name="memctl", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, folder: Path | None, no_pager: bool) -> Any:
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    is_alone = ctx.invoked_subcommand is None
    if not no_pager and (is_alone or ctx.invoked_subcommand in PAGED):
        terminal.hold()
    if is_alone:
        return _status(ctx, folder)
    return None


def _status(ctx: click.Context, folder: Path | None) -> Any:
    """This is what `memctl` does without a command."""
    from memctl.store import memory_root

    ctx.obj.work_in(folder)
    try:
        memory_root.find(ctx.obj.folder)
    except MemctlError:
        click.echo(ctx.get_help())
        return OK
    command = cli.get_command(ctx, "status")
    assert command is not None
    with command.make_context("status", [], parent=ctx) as inner:
        return command.invoke(inner)


def main(arguments: list[str] | None = None, start: Start | None = None) -> int:
    """Run memctl and return its exit code.

    `arguments` are the words after `memctl`, by default those of this process. `start` is what was prepared
    before click was imported (see `Start`); by default it is prepared now.
    """
    words = sys.argv[1:] if arguments is None else arguments
    start = start or Start(words)
    terminal.prepare()
    try:
        try:
            _refuse_broken_text(words)
            code = cli.main(words, prog_name="memctl", standalone_mode=False, obj=start)
        finally:
            terminal.release(start.folder)
        with terminal.answering():
            sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except terminal.ReaderGone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would report the closed stream again at its end
        written = start.memory.written if start.memory else []
        if not written:
            return OK
        error = _explain(
            OSError(errno.EPIPE, "the program that reads memctl's output has ended", terminal.OUTPUT), written
        )
    except (KeyboardInterrupt, click.Abort):
        error = MemctlError("interrupted", exit_code=INTERRUPTED)
    except Exception as raised:
        error = _error(raised, start.memory.written if start.memory else [], words)
    _complain(error, is_json="--json" in words)
    return error.exit_code


def _error(raised: Exception, written: list[str], words: list[str]) -> MemctlError:
    if isinstance(raised, MemctlError):
        return raised
    if isinstance(raised, click.UsageError):
        from memctl.cli import usage_errors

        return usage_errors.usage_error(raised, words)
    if isinstance(raised, click.ClickException):
        return MemctlError(raised.format_message(), exit_code=raised.exit_code)
    if isinstance(raised, OSError):
        return _explain(raised, written)
    if isinstance(raised, ModuleNotFoundError) and (error := incomplete_installation(raised)):
        return error
    return _bug()


def _refuse_broken_text(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            hint = "give the argument in UTF-8, and set a locale with UTF-8, such as LC_ALL=C.UTF-8"
            raise MemctlError(f"the argument {argument!r} is not UTF-8 text", hint, USAGE) from None


def _explain(error: OSError, written: list[str]) -> MemctlError:
    """The error names the ids that were committed before, so that a script does not repeat them."""
    message = f"{error.filename or 'a file or pipe'}: {error.strerror or error}"
    if error.filename == terminal.OUTPUT and written:
        hint = "do not run the command again: the change is committed"
        return MemctlError(f"{message}; but {'; '.join(written)}", hint, UNANSWERED)
    return MemctlError(message, kind="system")


def _complain(error: MemctlError, *, is_json: bool) -> None:
    if not is_json:
        terminal.complain(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""))
        return
    import json  # which is there even if the installation is incomplete

    data = {"code": error.kind_name, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
    text = json.dumps({"schema": 1, "kind": "error", "data": data}, ensure_ascii=False, separators=(",", ":"))
    terminal.complain(terminal.json(text, getattr(sys.stderr, "encoding", "") or "ascii"))


def _bug() -> MemctlError:
    import platform
    import traceback

    python = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    return MemctlError(
        "this is a bug in memctl",
        "please report this bug with the lines below, which contain no text of your records\n"
        f"memctl {__version__}, {python}\n{traceback.format_exc().rstrip()}",
        BUG,
    )

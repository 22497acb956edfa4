"""The `memctl` command: its subcommands, imported when they are called, and the one place where errors are printed."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memctl import __version__
from memctl.cli import terminal
from memctl.cli.start import Start
from memctl.errors import BUG, INTERRUPTED, OK, REFUSED, UNANSWERED, USAGE, MemctlError

if TYPE_CHECKING:
    from memctl.record.kinds import Kind

# Name -> the module below memctl.cli that has it (as NAME_command) and its line in the help. The lines stand here so
# that `memctl -h` imports no command; a test holds them to the commands. `all_commands` has those of record types, too.
_COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Record": {
        "session": ("session", "Sum up sessions of work: decisions, files, errors, and where they stopped."),
    },
    "Describe": {
        "project": ("pages", "Say what the project is for and where it stands: level 1."),
        "section": ("pages", "Describe the parts of the project: level 2."),
        "detail": ("pages", "Write down the details of a section: level 3."),
        "review": ("documents", "Stamp pages as agreeing with the code they refer to."),
        "render": ("documents", "Render the documents from the memory."),
    },
    "Find": {
        "list": ("find", "List records."),
        "search": ("search", "Search records, pages and their headings, sessions and checkpoints, best match first."),
        "show": ("navigate", "Show records, and places of the hierarchy by their § markers."),
        "next": (
            "next_work",
            "Say what to begin: the issues and states that nothing open blocks, best first.",
        ),
        "index": ("navigate", "Show the navigation index: which § markers there are."),
        "why": ("why", "Say which sections, records and commits explain a file or a line."),
        "impact": ("impact", "Say what a change of files touches, and which pages have grown stale."),
    },
    "Hand to a model": {
        "guide": ("guide", "Say when and how an agent uses memctl, a page at a time."),
        "rehydrate": ("pack", "Print what somebody needs who starts to work now, within a token budget."),
        "prompt": ("pack", "Print the memory as part of a prompt."),
        "handoff": ("handoff", "Hand work to another agent: package, record and ownership in one step."),
        "mcp": ("mcp", "Serve the memory to a program by the Model Context Protocol."),
        "load": ("pack", "Answer what an agent's reply asks for, and say what may go."),
        "context-summary": ("context_summary", "Shorten what a sub-agent returned to what the next phase needs."),
        "files": ("files", "Rank the repository's files for a task, and say which to load ahead."),
        "summarize": ("summary", "Show what is in a large file, within a token budget."),
    },
    "Workflow": {
        "checkpoint": ("checkpoint", "Save the state of a task, and take it up again."),
        "event": ("event", "Note and show what happens in a workflow."),
        "hook": ("hook", "Answer the events of agents' programs, and read what came of it."),
    },
    "Measure": {
        "tokens": ("tokens", "Count the tokens of files."),
        "budget": ("budget", "Divide a context window, and say how full it is."),
        "quality": ("quality", "Judge a pack or a prompt: relevance, placement, redundancy, staleness, density."),
        "policy": ("policy", "Say when to work in parallel, when to compress, and whether the threshold fits."),
        "window": ("window", "Manage what is in a model's context window."),
    },
    "Change": {
        "edit": ("change", "Change fields of a record, or its text in an editor."),
        "link": ("change", "Link two records, at both ends."),
        "supersede": ("change", "Let one record take the place of another."),
        "resolve": ("change", "Resolve issues, or finish states."),
        "reopen": ("change", "Open resolved issues or finished states again."),
        "archive": ("change", "Put records out of the way."),
        "unarchive": ("change", "Bring archived records back."),
        "delete": ("change", "Delete records; Git keeps them."),
        "restore": ("change", "Bring back a deleted record or checkpoint, or an earlier version of a record."),
        "redact": (
            "redact",
            "Redact a credential that got in, everywhere in this clone, and say what can't be reached.",
        ),
        "maintain": ("maintain", "Archive and delete what has served its time, and fold access counts in."),
    },
    "Work together": {
        "own": ("team", "Say who owns which section, and take, give back and hand over sections."),
        "renumber": ("renumber", "Give records and pages that share an id one each, and mend the references."),
        "coordination": ("team", "Say which agents are at work, on what, and what stands in their way."),
        "sync": ("sync", "Fetch, merge, render the documents and push: the branch, and the state that agents share."),
    },
    "History": {
        "log": ("history", "Show who changed what, when and why."),
        "diff": ("history", "Show how the memory, or one record, differs from a revision."),
    },
    "Project": {
        "init": ("project", "Set up a memory in this repository."),
        "demo": ("project", "Make an example to try: a small shop's repository, with its memory."),
        "status": ("project", "Say what the memory holds, what is broken, and what waits to be committed."),
        "commit": ("project", "Make the commits that are pending."),
        "check": ("check", "Check that the memory is consistent; it never writes."),
        "merge-file": ("merge", "Merge one file of the memory, as Git's merge driver."),
        "import": ("exchange", "Add records of a file, or of another tool."),
        "export": ("exchange", "Print records as JSON Lines, or write ADRs."),
        "install": ("install", "Set up Git's hooks and merge drivers for this clone, or the hooks of agents."),
        "completion": ("completion", "Print the completion script for a shell."),
    },
}
_MODULES = {name: module for commands in _COMMANDS.values() for name, (module, _) in commands.items()}


def _of_kinds() -> dict[str, Kind]:
    """The record types that have a command of their own, by its name; imported only where one may be meant."""
    from memctl.record.kinds import KINDS

    return {kind.verb: kind for kind in KINDS.values() if kind.help}


def all_commands() -> dict[str, dict[str, str]]:
    """All commands in the groups of the help, each with its line."""
    groups = {title: {name: line for name, (_, line) in group.items()} for title, group in _COMMANDS.items()}
    return {**groups, "Record": {**{name: kind.help for name, kind in _of_kinds().items()}, **groups["Record"]}}


def _command_of(name: str) -> click.Command | None:
    """The command that makes records of a type."""
    if (kind := _of_kinds().get(name)) is None:
        return None
    from memctl.cli import create

    return create.command(kind)


class Memctl(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in all_commands().values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return _command_of(cmd_name)
        import memctl.record  # noqa: F401  # before a module that imports msgspec by itself

        module = import_module(f"memctl.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _MODULES and args[0] not in _of_kinds() and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "`memctl -h` lists the commands"
            raise MemctlError(f"there is no command {args[0]!r}", hint, USAGE)
        ctx.obj.work_in(ctx.params.get("folder"))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[-C DIR] COMMAND …")
        formatter.write_text("\n")
        formatter.write_text(str(self.help))
        for title, group in all_commands().items():
            with formatter.section(title):
                formatter.write_dl(list(group.items()), col_max=14)
        self.format_options(ctx, formatter)
        formatter.write_text("\n`memctl COMMAND -h` begins with examples.")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands stand above the options, by what they are for."""


@click.group(
    cls=Memctl,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    help="Keep a project's decisions, issues, states and learnings in its Git repository.",
)
@click.option("-C", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Work as if started in DIR.")
@click.version_option(__version__, prog_name="memctl", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, **_: object) -> None:
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: list[str] | None = None, start: Start | None = None) -> int:
    """Run memctl with some arguments (default: the process's) and return the exit code; `start` if it is made."""
    given = sys.argv[1:] if arguments is None else arguments
    start = start or Start(given)
    terminal.prepare()
    try:
        _refuse_broken_text(given)
        code = cli.main(given, prog_name="memctl", standalone_mode=False, obj=start)
        with terminal.answering():
            sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except MemctlError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "memctl"
        _complain(error.format_message(), f"`{path} -h` shows how")
        return USAGE
    except click.ClickException as error:
        _complain(error.format_message(), None)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted", None)
        return INTERRUPTED
    except terminal.ReaderGone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python would complain once more as it ends
        written = start.memory.written if start.memory else []
        return _explain(OSError(errno.EPIPE, "its reader is gone", terminal.OUTPUT), written) if written else OK
    except OSError as error:
        return _explain(error, start.memory.written if start.memory else [])
    except Exception:
        _report_bug()
        return BUG


def _refuse_broken_text(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise MemctlError(f"the argument {argument!r} is not UTF-8 text", exit_code=USAGE) from None


def _explain(error: OSError, written: list[str]) -> int:
    """Say what an error of the system hit, and what was written before: a script must not write that again."""
    message = f"{error.filename or 'a file or pipe that memctl needs'}: {error.strerror or error}"
    if error.filename == terminal.OUTPUT and written:
        _complain(f"{message}; but {'; '.join(written)}", "do not run the command again: it has done its work")
        return UNANSWERED
    _complain(message, None)
    return REFUSED


def _complain(message: str, hint: str | None) -> None:
    terminal.complain(f"error: {message}" + (f"\nhint: {hint}" if hint else ""))


def _report_bug() -> None:
    import platform
    import traceback

    python = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    _complain(
        "this is a bug in memctl", "please report it with the lines below; they hold no text of your records' bodies"
    )
    terminal.complain(f"memctl {__version__}, {python}\n{traceback.format_exc().rstrip()}")

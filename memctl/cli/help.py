"""The command `memctl help`: show the most common commands, all commands, or a page on a subject."""

from __future__ import annotations

import click

from memctl.cli import output
from memctl.cli.command import command, complete, flag_option, json_option
from memctl.cli.command_list import GROUPS, write_all, write_help
from memctl.errors import USAGE, MemctlError
from memctl.hooks.guide import TOPICS


@command(
    "help",
    ("memctl help", "List the commands that are used every day."),
    ("memctl help --all", "List all commands, by purpose."),
    ("memctl help agents", "Print when an agent should use memctl, as agents with hooks get it at a session's start."),
    ("memctl help recording", "Print the page on the subject recording; `memctl help` lists the subjects."),
    ("memctl help page section add", "Print the help of the command `memctl page section add`."),
    ("memctl help searching --json", "Print the page on a subject as JSON."),
)
@click.argument("words", metavar="[TOPIC|COMMAND]", nargs=-1, shell_complete=complete("help"))
@flag_option("--all", "everything", help="List all commands, by purpose.")
@json_option
def help_command(ctx: click.Context, /, words: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Show the commands that are used every day, all commands, or a page on a subject.

    The subjects are what an agent reads, a page at a time. --json prints one, without a subject that for agents. The
    command works without a memory, too.
    """
    root = ctx.find_root()
    if as_json:
        if len(words) > 1 or not TOPICS.keys() >= set(words):
            raise MemctlError("--json prints only subjects", f"give one of {', '.join(TOPICS)}", USAGE)
        lines = {name: topic.line for name, topic in TOPICS.items()}
        output.json(
            "help", {"topic": words[0] if words else None, "text": TOPICS[(*words, "agents")[0]].text, "topics": lines}
        )
        return
    if words and len(words) == 1 and words[0] in TOPICS:
        output.text(TOPICS[words[0]].text, newline=False)
        return
    if words:
        output.text(_command_help(root, words))
        return
    formatter = root.make_formatter()
    if everything:
        write_all(formatter)
    else:
        write_help(formatter, root.command_path)
    output.text(formatter.getvalue().strip("\n"))
    output.text("\nSubjects:" if everything else "\nSubjects, for `memctl help TOPIC`:")
    output.columns([(f"  {name}", topic.line) for name, topic in TOPICS.items()])


def _command_help(root: click.Context, words: tuple[str, ...]) -> str:
    context, group = root, root.command
    if group_of := next((name for name, members in GROUPS.items() if words[0] in members), ""):
        words = (group_of, *words)
    for word in words:
        if not isinstance(group, click.Group):
            raise MemctlError(f"`{context.command_path}` has no subcommand {word!r}", exit_code=USAGE)
        try:
            name, member, _ = group.resolve_command(context, [word])
        except MemctlError as error:
            raise MemctlError(
                f"there is no command or subject {word!r}", f"the subjects are {', '.join(TOPICS)}; {error.hint}", USAGE
            ) from None
        if member is None:
            raise MemctlError(f"`{context.command_path}` has no subcommand {word!r}", exit_code=USAGE)
        context, group = click.Context(member, info_name=name, parent=context), member
    return context.get_help()

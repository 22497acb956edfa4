"""The list of commands: their modules, their lines in the help, and synonyms for them.

No command is imported here, so that `memctl -h` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from memctl.record.kinds import Kind

# Name -> the module below memctl.cli that has it (as NAME_command) and its line in the help. The lines stand here so
# that `memctl -h` imports no command; a test holds them to the commands. `all_commands` has those of record types, too.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Record": {"session": ("session", "Summarize sessions of work: decisions, files, errors, state.")},
    "Find": {
        "list": ("list_records", "List records."),
        "search": ("search", "Search records, pages and past sessions, best match first."),
        "show": ("navigate", "Show records, and places of the hierarchy by their § markers."),
        "next": ("next_work", "Show what to work on next: unblocked work, best first."),
        "why": ("why", "Show what explains a file, a line or a folder: sections, records, commits."),
    },
    "Describe the project": {"page": ("groups", "Write, render and review the pages of the hierarchy, levels 1 to 4.")},
    "Hand to a model": {
        "rehydrate": ("pack", "Print what an agent needs to start work, within a token budget."),
        "files": ("files", "Rank the repository's files for a task, and show which to load into the context."),
        "checkpoint": ("checkpoint", "Save the state of a task, and resume it."),
        "mcp": ("mcp", "Serve the memory to a program by the Model Context Protocol."),
        "context": ("groups", "Manage the context window of an agent that you write yourself."),
    },
    "Change": {
        "edit": ("edit", "Change fields of a record, or edit its text in your editor."),
        "link": ("edit", "Link two records with each other."),
        "supersede": ("edit", "Mark one record as superseded by another."),
        "merge": ("edit", "Make one record of two that say the same."),
        "resolve": ("edit", "Resolve issues, or finish states."),
        "reopen": ("edit", "Open resolved issues or finished states again."),
        "archive": ("edit", "Archive records."),
        "unarchive": ("edit", "Take records out of the archive."),
        "undo": ("undo", "Undo the last change of the memory, in a new commit."),
        "delete": ("edit", "Delete records. Git keeps their text."),
        "restore": ("edit", "Restore a deleted record or checkpoint, or an earlier version of a record."),
        "redact": ("redact", "Redact a credential everywhere in this clone, and list where it may remain."),
        "maintain": ("maintain", "Archive and delete old records and checkpoints, and store access counts."),
    },
    "Work together": {
        "team": ("team", "Show who is at work; own sections, hand work to other agents."),
        "sync": ("sync", "Fetch, merge, render the documents and push: the branch, and the state that agents share."),
    },
    "History": {
        "log": ("history", "Show who changed what, when and why."),
        "diff": ("history", "Show how the memory, or one record, differs from a revision."),
    },
    "Project": {
        "init": ("init", "Set up a memory in this repository, and name the next commands."),
        "demo": ("init", "Create an example to try: a small shop's repository, with its memory."),
        "status": ("status", "Show the state of the memory, and what needs attention."),
        "upgrade": ("upgrade", "Upgrade the memory to format 2, in one commit."),
        "commit": ("commit", "Commit each pending change with its own message, and then all edits made by hand."),
        "check": ("check", "Check that the memory is consistent; only --fix writes."),
        "import": ("exchange", "Import records from a file or another tool."),
        "export": ("exchange", "Print records as JSON Lines, or write decisions as ADRs."),
        "install": ("install", "Set up Git's hooks and merge drivers for this clone, or the hooks of agents."),
        "help": ("help", "Show the commands that are used every day, all commands, or a page on a subject."),
    },
}
# The commands of each group, in the same form. They work without the name of the group, too, as they did before there
# were groups, but no list has them so.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "page": {
        "project": ("pages", "Describe the project's purpose and status: level 1."),
        "section": ("pages", "Describe the parts of the project: level 2."),
        "detail": ("pages", "Write down the details of a section: level 3."),
        "review": ("documents", "Confirm that pages agree with the code they refer to."),
        "render": ("documents", "Render all documents from the memory."),
        "index": ("navigate", "Show the navigation index: which § markers there are."),
        "impact": ("impact", "Show which pages a change of files affects, and which pages are stale."),
    },
    "context": {
        "window": ("window", "Manage what is in a model's context window."),
        "budget": ("budget", "Divide a context window, and show how full it is."),
        "quality": ("quality", "Judge a pack or a prompt: relevance, placement, redundancy, staleness, density."),
        "policy": ("policy", "Judge when agents may work in parallel, and when to compress a context."),
        "tokens": ("tokens", "Count the tokens of files."),
        "summarize": ("summarize", "Show what is in a large file, within a token budget."),
        "summary": ("context_summary", "Shorten a sub-agent's result to what the next phase needs."),
        "prompt": ("pack", "Print the memory as part of a prompt."),
        "load": ("pack", "Print the texts that an agent's reply asks for, and list what the agent no longer needs."),
    },
    "team": {
        "own": ("team", "Show who owns which section; acquire, release and transfer sections."),
        "handoff": ("handoff", "Hand work to another agent: package, record and ownership in one step."),
    },
}
# What programs call, and no list has: agents' hooks, Git, shells.
_PLUMBING = {
    "event": "event", "hook": "hook", "merge-file": "merge", "completion": "completion", "schema": "schema",
    "renumber": "renumber",
}  # fmt: skip
# Commands with output to read, which goes through Git's pager if it is longer than the terminal.
PAGED = (
    "status", "list", "search", "show", "next", "index", "why", "impact", "log", "diff", "check", "rehydrate", "help",
)  # fmt: skip
MODULES = {
    **{name: module for group in (*COMMANDS.values(), *GROUPS.values()) for name, (module, _) in group.items()},
    **_PLUMBING,
}
EVERY_DAY = (
    "init", "status", "next", "decide", "issue", "state", "learn", "search", "show", "why", "edit", "resolve", "undo",
    "rehydrate",
)  # fmt: skip
# Words of Git, shells and issue trackers -> the command of memctl with this meaning and these arguments. They run it at
# once, which spares the user a second try. That is safe, since every change, also of `delete`, can be undone.
SYNONYMS = {
    "find": "search", "grep": "search", "recall": "search", "query": "search", "rm": "delete", "remove": "delete",
    "del": "delete", "close": "resolve", "done": "resolve",
    "todo": "next", "ls": "list", "cat": "show", "view": "show", "get": "show", "revert": "undo", "decision": "decide",
    "bug": "issue", "lesson": "learn", "stats": "status", "stat": "status", "explain": "why", "coordination": "team",
    "guide": "help", "context-summary": "summary",
}  # fmt: skip


def of_kinds() -> dict[str, Kind]:
    """Return the record types that have a command of their own, by the command's name, such as "decide".

    This loads the definitions of all types, which takes time; so the list of commands does not call it at import.
    """
    from memctl.record.kinds import KINDS

    return {kind.verb: kind for kind in KINDS.values() if kind.help}


def load(name: str) -> click.Command:
    """Import a command of `MODULES`, and return it."""
    import memctl.record  # noqa: F401  # before a module that imports msgspec by itself

    module = import_module(f"memctl.cli.{MODULES[name]}")
    command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
    return command


def all_commands() -> dict[str, dict[str, str]]:
    """Return all commands by the headings of the help: under each, the names of commands and a line on each command.

    A group stands there once; `GROUPS` has its members.
    """
    groups = {title: {name: line for name, (_, line) in group.items()} for title, group in COMMANDS.items()}
    return {**groups, "Record": {**{name: kind.help for name, kind in of_kinds().items()}, **groups["Record"]}}


def write_help(formatter: click.HelpFormatter, path: str) -> None:
    """Write the help of `memctl -h`: the commands of every day, and how to list the others.

    `path` is how the user calls memctl, such as "memctl" or "git memctl".
    """
    lines = {name: line for group in all_commands().values() for name, line in group.items()}
    formatter.write_usage(path, "[-C DIR] [COMMAND …]")
    formatter.write("\nKeep a project's decisions, issues, states and learnings in its Git repository.\n")
    with formatter.section("Every day"):
        formatter.write_dl([(name, lines[name]) for name in EVERY_DAY], col_max=14)
    formatter.write(
        f"\n`{path} COMMAND -h` begins with examples; `{path} help --all` lists all {len(lines)} commands,\n"
        f"`{path} help TOPIC` explains a subject. -C DIR works in DIR, --no-pager prints without a\n"
        "pager, --version prints the version. Without a command, memctl shows the memory's status.\n"
    )


def write_all(formatter: click.HelpFormatter) -> None:
    """Write the help of `memctl help --all`: all commands by group, and synonyms of commands."""
    for title, group in all_commands().items():
        lines = {
            name: f"{line} ({', '.join(GROUPS[name])})" if name in GROUPS else line for name, line in group.items()
        }
        with formatter.section(title):
            formatter.write_dl(list(lines.items()), col_max=14)
    with formatter.section("Synonyms of commands"):
        formatter.write_text(", ".join(f"{word} ({name})" for word, name in SYNONYMS.items()))

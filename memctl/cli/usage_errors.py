"""Errors for unknown commands and wrong arguments, with a hint at the command that the user may mean."""

from __future__ import annotations

import shlex
from difflib import get_close_matches
from itertools import takewhile

import click

from memctl.cli.command_list import GROUPS, SYNONYMS
from memctl.errors import USAGE, MemctlError
from memctl.record.kinds import KINDS
from memctl.text.lazy_regex import lazy_regex


def _by_word(leads: dict[str, str]) -> dict[str, str]:
    return {word: lead for words, lead in leads.items() for word in words.split(", ")}


_RECORDING = "`memctl decide`, `issue`, `state` or `learn` creates a record, `memctl page section add` describes a part"
# Words that are not commands -> what to type instead.
LEADS = _by_word(
    {
        "add, new, create, record, note": _RECORDING,
        "task, tasks, plan, roadmap": "`memctl state TITLE --next STEP` records work, `memctl next` shows what is next",
        "push, pull, fetch, share": "`memctl sync` fetches, merges and pushes the memory and this branch",
        "board, dashboard, ui, info, report, today, standup, recent": (
            "`memctl status` shows the state of the memory, `memctl log` its last changes"
        ),
        "history, blame, changes": "`memctl log ID` shows a record's changes, `memctl why FILE` what explains a file",
        "doctor, fsck, verify, validate, lint": "`memctl check` finds errors in the memory",
        "pack, bundle, inject, brief": "`memctl rehydrate` prints what an agent needs",
        "doc, docs, wiki, reindex, rebuild, tree, html, site, serve, web, tui, graph": (
            "`memctl page render` writes .memory/docs, which any viewer of Markdown shows"
        ),
        "clean, gc, prune": "`memctl maintain` archives and deletes what is old",
        "tag, tags, label": "`memctl edit ID --tag NAME` adds a tag",
        "adr, adrs": (
            "`memctl decide` records a decision, `memctl import adr DIR` and `memctl export adr DIR` read"
            " and write ADRs"
        ),
        "remember, memorize, lesson": "`memctl learn TITLE --lesson …` records what was learned",
        "purge, forget, wipe": "`memctl delete ID` deletes a record, `memctl redact ID` a credential",
        "decisions, issues, states, learnings, lessons, records": "`memctl list --type TYPE` lists records of a type",
        "ready, blocked": "`memctl next` shows what to work on, `memctl list --ready` or `--blocked` lists such work",
        "update, change, priority": "`memctl edit ID` with options changes a record",
        "block, depends, relate": "`memctl link ID OTHER --as blocks` links two records, here by what one blocks",
        "assign": "`memctl team handoff --to AGENT` gives work to an agent, `memctl team own` shows who owns what",
        "comment": "`memctl edit ID` opens the record in your editor",
        "config, settings": "settings are lines of .memory/config.yaml: `memctl schema config` describes them",
        "fix": "`memctl resolve ID` closes an issue, `memctl check --fix` repairs files of the memory",
        "redo": "`memctl undo COMMIT` with the commit of an undo, from `memctl log`, repeats the undone change",
        "lock, unlock, claim, release": "`memctl team own acquire §2.1` reserves a section, `release` frees it",
        "agent, agents, who, whoami": "`memctl team` shows the agents at work",
        "sessions": "`memctl session list` lists the sessions",
        "save, resume": "`memctl checkpoint save` saves the state of a task, `memctl checkpoint resume` resumes it",
        "finish, stop, end": "`memctl resolve ID` finishes a state, `memctl session end` ends a session",
        "backup": "`memctl export` prints all records; Git keeps each version of them",
        "setup, hooks, login": "`memctl install` sets up hooks of Git and of agents, `memctl init` a memory",
        "compact, digest": "`memctl context` manages the window of an agent that you write yourself",
        "sections": "`memctl page section list` lists the sections",
        "set": "`memctl edit ID --set FIELD=VALUE` changes a record, `memctl page project set` the project's page",
        "start": "`memctl init` sets up a memory, `memctl session start` starts a session",
        "uninstall": "`memctl install WHAT --uninstall` removes what was installed",
        "version": "`memctl --version` prints the version",
        "install hooks": "`memctl install git` sets up Git's hooks, `memctl install claude-code` sets up an agent's",
        "install claude": "`memctl install claude-code` sets up Claude Code",
        "install cursor, install copilot": "`memctl install mcp --for cursor` or `--for vscode` prints the settings",
        "project show": "`memctl show §1.0` shows the project's page",
    }
)
# Options that a command does not have -> what to type instead.
OPTION_LEADS = _by_word(
    {
        "-m, --message": "memctl writes its commit messages itself; --reason, where a command has it, adds the reason",
        "--label, --labels": "--tag NAME adds a tag to a record",
        "-y, --yes, --force": "leave this option out: the command does not ask, and `memctl undo` undoes its change",
        "--tokens, --max-tokens": "--budget TOKENS limits the size of a pack",
        "-a, -A": "--all also lists archived records",
        "-n": "--limit NUMBER sets how many entries are shown; for commands that write, -n means --dry-run",
        "--oneline": "`git log --oneline -- .memory` prints one line for each change",
        "--why, --because, -r": "--rationale TEXT gives the reason for a decision",
        "-v": "`memctl --version` prints the version",
        "--consequence, --consequences": "--impact TEXT says what a decision brings",
    }
    | {
        f"--{name.replace('_', '-')}": f"`memctl link ID OTHER --as {name}` links two records"
        for name in ("blocked_by", "blocks", "relates_to", "supersedes")
    }
)


_MORE = lazy_regex(r"Got unexpected extra arguments? \((.*)\)")
_CHOICES = lazy_regex(r"(Missing .*\.) Choose from:\s+([\s\S]*)")
_NO_COMMAND = lazy_regex(r"No such command '([^']*)'")
_NO_CHOICE = lazy_regex(r"'([^']*)' is not one of ")
_LISTED = ("session", "checkpoint", "section", "detail", "event")  # no types of records, but commands with a `list`
_NEAR = 0.75  # as `serch` is to `search`; at .6, `release` was near `delete`, and `relate` near `redact`
_SEARCHED = ("list", "log", "next", "status")  # what takes no words to look for


def unknown_command(name: str, commands: list[str]) -> MemctlError:
    """Return the error for the unknown command `name`, with a hint at similar ones.

    `commands` are the names of all commands; synonyms for them are looked at, too.
    """
    near = [SYNONYMS.get(word, word) for word in get_close_matches(name, [*commands, *SYNONYMS], 2, _NEAR)]
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else "`memctl help --all` lists the commands"
    return MemctlError(f"there is no command {name!r}", LEADS.get(name, hint), USAGE, "unknown-command")


def usage_error(raised: click.UsageError, given: list[str]) -> MemctlError:
    """Return memctl's error for wrong arguments, with a hint what to type instead.

    `raised` is the error of click, and `given` are the words that the user typed after `memctl`.
    """
    path = raised.ctx.command_path if raised.ctx else "memctl"
    words = given[2:] if given[:1] == ["-C"] else given
    words = words[1:] if words[:1] and words[0] in GROUPS else words
    message, hint = raised.format_message(), f"`{path} -h` shows the arguments and options"
    if raised.ctx and isinstance(raised.ctx.command, click.Group):
        message = "Missing command." if isinstance(raised, click.exceptions.NoArgsIsHelpError) else message
        if names := raised.ctx.command.list_commands(raised.ctx) if path != "memctl" else []:
            hint = f"give one of {', '.join(names)}; {hint}"
        if (wrong := _NO_COMMAND.match(message)) and any("--to" in param.opts for param in raised.ctx.command.params):
            taker = "AGENT" if wrong[1] in LEADS else shlex.quote(wrong[1])
            hint = f"`{path} --to {taker}` gives work to an agent; {hint}"
    if choices := _CHOICES.match(message):  # click prints one below the other
        message, hint = choices[1], f"give one of {', '.join(choices[2].replace(',', ' ').split())}; {hint}"
    if _MORE.match(message) and raised.ctx:
        hint = _of_more_words(raised.ctx, words) or hint
    if (wrong := _NO_CHOICE.search(message)) and (name := wrong[1].lower().rstrip("s")) in _LISTED:
        hint = f"`memctl {name} list` lists the {name}s"
    elif near := _near_choice(raised, message):
        hint = f"did you mean {near}?"
    if isinstance(raised, click.NoSuchOption):
        hint = OPTION_LEADS.get(raised.option_name, hint)
        if path == "memctl search" and not raised.option_name.startswith("--"):
            hint = f"words that begin with - come behind --: `{path} -- WORDS`; {hint}"
    return MemctlError(message, LEADS.get(" ".join(words[:2]), hint), USAGE)


def _near_choice(raised: click.UsageError, message: str) -> str:
    wrong, param = _NO_CHOICE.search(message), getattr(raised, "param", None)
    if wrong is None or not isinstance(param, click.Parameter) or not isinstance(param.type, click.Choice):
        return ""
    choices = [str(choice) for choice in param.type.choices]
    named = SYNONYMS.get(wrong[1].lower(), wrong[1].lower())
    return next(iter([named] if named in choices else get_close_matches(named, choices, n=1)), "")


def _of_more_words(context: click.Context, given: list[str]) -> str:
    """More words than a command takes are one title, or something to look for; return "" if neither."""
    name = context.info_name or ""
    behind = given[given.index(name) + 1 :] if name in given else given[1:]  # for a synonym of the name
    words = list(takewhile(lambda word: not word.startswith("-"), behind))
    if name == "list" and words and (kinds := get_close_matches(words[0].lower(), KINDS, n=1)):
        return f"`memctl list --type {kinds[0]}` lists the records of this type"
    if name == "files":
        return f"`memctl files --task {shlex.quote(' '.join(words))}` lists the files that a task needs"
    if name in _SEARCHED:
        return f"`memctl search {shlex.join(words)}` finds records with these words"
    is_title = any(param.name == "title" and isinstance(param, click.Argument) for param in context.command.params)
    quoted = f"{context.command_path} {shlex.join([' '.join(words)])}"
    return f"put a title of several words in quotes: `{quoted}`" if is_title and words else ""

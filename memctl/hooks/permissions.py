"""The rules by which each host lets an agent run memctl without asking (`agent_env.COMMANDS`).

Hosts compare the beginning of a command line, so all options of a command come with it; those that reach further are
refused in the shell of an agent. Chained commands, substitutions and redirections are the hosts' to look at: seen in
Claude Code 2.1.330, Codex 0.169.0 and Gemini CLI 0.61.0, all three take none of these for the command itself
(tests/agents).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from memctl.hooks import settings
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, GEMINI, Host
from memctl.store.agent_env import COMMANDS, RECORD

_STRONGER = ("deny", "ask")  # lists beside Claude Code's of what is allowed: what is in one of them is not


class Form(NamedTuple):
    """How a host names such commands: in a list in its settings, or in a file of rules in its folder, line by line.

    `rule` is an entry or a line, with the command as `{command}`, or word by word as `{words}`. Before and after the
    lines of a file come `opening` and `closing`. `setting` is the place of the list; where there is a file, the list
    has the files' names, and `names` are what has to be in it for a project's file to be read.
    """

    rule: str
    setting: tuple[str, ...] = ()
    file: str = ""
    opening: str = ""
    closing: str = ""
    names: tuple[str, ...] = ()

    def rules(self) -> dict[str, list[str]]:
        """Return the entries or lines, by group."""
        return {
            group: [self.rule.format(command=command, words=json.dumps(["memctl", *command.split()])) for command in of]
            for group, of in COMMANDS.items()
        }

    def list_entries(self, *, is_project: bool) -> dict[str, list[str]]:
        """Return what the list in the settings has, by group."""
        if not self.file:
            return self.rules()
        return {group: list(self.names) for group in COMMANDS} if self.names and is_project else {}


FORMS: Mapping[str, Form] = {
    CLAUDE_CODE.name: Form("Bash(memctl {command}:*)", ("permissions", "allow")),
    CODEX.name: Form(
        'prefix_rule(pattern={words}, decision="allow")',
        file="rules/memctl.rules",
        opening="# What Codex runs without asking, and outside of its sandbox, in which Git's folder is closed.\n",
    ),
    # Not `tools.allowed`: with a command of the shell in it, all others are denied. Policies of a project are read if
    # its settings name them, but then nobody's own are unless they are named, too. The least priority: a user's own
    # rules are stronger.
    GEMINI.name: Form(
        '  {{ toolName = "run_shell_command", commandPrefix = "memctl {command}", decision = "allow", priority = 1 }},',
        ("policyPaths",),
        "policies/memctl.toml",
        "# What Gemini CLI runs without asking.\nrule = [\n",
        "]\n",
        ("~/.gemini/policies", ".gemini/policies/memctl.toml"),
    ),
}


def choose(
    rules: Mapping[str, Sequence[str]], groups: Collection[str] | None, offered: Collection[str], present: Sequence[str]
) -> list[str]:
    """Return the rules that are to be there: those of the groups that are asked for.

    If none are asked for (None), those that are `present`, and those that were not `offered` before: who took a rule
    out, or left a group out, is not offered it again.
    """
    chosen: list[str] = []
    for group, of in rules.items():
        is_left_out = any(rule in offered for rule in of) and not any(rule in present for rule in of)
        for rule in of:
            is_wanted = (
                group in groups if groups is not None else rule in present or (rule not in offered and not is_left_out)
            )
            if is_wanted and rule not in chosen:
                chosen.append(rule)
    return chosen


def write_rules(text: str, form: Form, wanted: Sequence[str], gone: Collection[str]) -> str:
    """Return a file of rules with those wanted and without those `gone`; "" if nothing is left but its frame."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip("\r\n") not in gone]
    if not any(line.strip() for line in lines):
        lines = [form.opening, form.closing] if wanted else []
    present = {line.strip("\r\n") for line in lines}
    missing = [f"{rule}\n" for rule in wanted if rule not in present]
    ours = [number for number, line in enumerate(lines) if line.strip("\r\n") in wanted]
    at = ours[-1] + 1 if ours else len(lines)
    if not ours and form.closing in lines:
        at = lines.index(form.closing)
    made = "".join([*lines[:at], *missing, *lines[at:]])
    return "" if not wanted and made == form.opening + form.closing else made


def rules_in(text: str, rules: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the permission rules that a settings file contains, of those given by group."""
    lines = text.splitlines()
    return [rule for of in rules.values() for rule in of if rule in lines]


def granted_rules(host: Host, text: str, rules: str, name: str) -> list[str]:
    """Return the rules that hold by a host's settings, or by its file of rules: those that nothing denies.

    Raises MemctlError if the settings, called `name`, are not such as memctl reads.
    """
    form = FORMS[host.name]
    if form.file:
        return rules_in(rules, form.rules())
    above = form.setting[:-1]
    lists = {
        key: [one for one in settings.list_at(text or "{}", (*above, key), name) if isinstance(one, str)]
        for key in (form.setting[-1], *_STRONGER)
    }
    stronger = [re.sub(r"(?:[:( ]\*)?\)?$", "", one) for key in _STRONGER for one in lists[key]]
    return [
        rule
        for rule in lists[form.setting[-1]]
        if not any(re.match(rf"{re.escape(one)}(?![\w-])", rule) for one in stronger)
    ]


def describe(host: Host, rules: Collection[str]) -> str:
    """Return what some rules let an agent run without asking, in words."""
    found = {
        group: [command for command, rule in zip(COMMANDS[group], of, strict=True) if rule in rules]
        for group, of in FORMS[host.name].rules().items()
    }
    parts = [f"to {group}: memctl {', '.join(commands)}" for group, commands in found.items() if commands]
    if not parts:
        return "agents have to ask before they run memctl; `--allow all` (or read, or record) lets them"
    hooks = "; a record is a commit, which runs your Git hooks; one in the worktree that is edited has it wait for you"
    hooks = hooks if found[RECORD] else ""
    return f"agents may run without asking, {'; '.join(parts)} (`--allow read`, or none, leaves the others out){hooks}"

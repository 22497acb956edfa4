"""Write the permission rules by which a host lets agents run commands of memctl without asking (`agent_env.COMMANDS`).

Hosts compare the beginning of a command line, so a rule allows all options of a command; memctl itself refuses the
far-reaching ones in an agent's shell. Hosts check chained commands, substitutions and redirections separately: Claude
Code 2.1.330, Codex 0.169.0 and Gemini CLI 0.61.0 allow none of these by such a rule (tests/agents).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from memctl.hooks import settings
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, GEMINI, Host
from memctl.store.agent_env import COMMANDS, RECORD

_STRONGER = ("deny", "ask")  # lists of Claude Code that override the list of allowed commands


class Form(NamedTuple):
    """The form of a host's permission rules: entries of a list in its settings, or lines of a rules file.

    - `rule`: the template of an entry or line: `{command}` stands for the command, `{words}` for a JSON list of its
      words.
    - `setting`: the path of keys to the list in the settings, () if there is none.
    - `file`: the rules file in the host's folder, "" if there is none; `opening` and `closing` are the text before and
      after its rules.
    - `names`: the paths of rules files that the list in a project's settings must contain, so that the host reads these
      files; () if it needs none.
    """

    rule: str
    setting: tuple[str, ...] = ()
    file: str = ""
    opening: str = ""
    closing: str = ""
    names: tuple[str, ...] = ()

    def rules(self) -> dict[str, list[str]]:
        """Return the permission rules in this form, as entries or lines, by group of commands ("read" or "record")."""
        return {
            group: [self.rule.format(command=command, words=json.dumps(["memctl", *command.split()])) for command in of]
            for group, of in COMMANDS.items()
        }

    def list_entries(self, *, is_project: bool) -> dict[str, list[str]]:
        """Return the entries that memctl adds to the list in a host's settings, by group of commands; {} if none."""
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
    # `tools.allowed` can't be used: a shell command in it denies all others. A project's policies are read if its
    # settings name them, but the user's own ones then only if they are named, too. The lowest priority lets a user's
    # own rules override ours.
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
    """Return the permission rules that a file is to have, chosen from `rules`, the rules by group of commands.

    These are all rules of the `groups` that the user chose. If `groups` is None, they are the rules `present` in the
    file, and rules that memctl did not know when it last edited the file (`offered` are the rules that it knew). So a
    rule that the user removed, or a group of which the user kept no rule, is not added again.
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
    """Return a rules file's text with the `wanted` rules and without those in `gone`; "" if no rule is left."""
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
    """Return which of `rules`, permission rules by group of commands, are lines of a text."""
    lines = text.splitlines()
    return [rule for of in rules.values() for rule in of if rule in lines]


def granted_rules(host: Host, text: str, rules: str, name: str) -> list[str]:
    """Return memctl's permission rules in a host's settings or rules file that no other rule there denies.

    `text` is the settings' text, `rules` that of the rules file; `host` decides which of them has the rules.
    `name` is the settings file's name for messages. Raises MemctlError if memctl can't parse the settings.
    """
    form = FORMS[host.name]
    if form.file:
        return rules_in(rules, form.rules())
    above = form.setting[:-1]
    lists = {
        key: [rule for rule in settings.list_at(text or "{}", (*above, key), name) if isinstance(rule, str)]
        for key in (form.setting[-1], *_STRONGER)
    }
    stronger = [re.sub(r"(?:[:( ]\*)?\)?$", "", rule) for key in _STRONGER for rule in lists[key]]
    return [
        rule
        for rule in lists[form.setting[-1]]
        if not any(re.match(rf"{re.escape(one)}(?![\w-])", rule) for one in stronger)
    ]


def describe(host: Host, rules: Collection[str]) -> str:
    """Return a sentence on the commands that some rules let agents run without asking."""
    allowed = {
        group: [command for command, rule in zip(COMMANDS[group], of, strict=True) if rule in rules]
        for group, of in FORMS[host.name].rules().items()
    }
    parts = [f"to {group}: memctl {', '.join(commands)}" for group, commands in allowed.items() if commands]
    if not parts:
        return (
            "agents have to ask before they run memctl; `--allow all`, `--allow record` or `--allow read` changes that"
        )
    hooks = (
        "; each record is a commit, which runs your Git hooks; if one of them was changed, the commit waits for you"
        if allowed[RECORD]
        else ""
    )
    return f"agents may run without asking, {'; '.join(parts)} (`--allow read` or `--allow none` limits that){hooks}"

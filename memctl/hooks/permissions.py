"""Write the permission rules by which a host lets agents run commands of memctl without asking (`agent_env.COMMANDS`).

Hosts compare only the beginning of a command line, so a rule allows a command with all its options. Options that an
agent must not use unasked are refused by memctl itself, in shells that agents run. The rules don't allow chained
commands (`a && b`), substitutions or redirections: tests/agents checked that with Claude Code 2.1.330, Codex 0.169.0
and Gemini CLI 0.61.0.
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
    """How a host writes permission rules: as entries of a list in its settings, or as lines of a separate rules file.

    - `rule`: the template of an entry or line, in which `{command}` stands for the command, and `{words}` for a JSON
      list of its words, such as `["memctl", "show"]`.
    - `setting`: the keys that lead to the list in the settings, such as ("permissions", "allow"); () if there is no
      list.
    - `file`: the rules file in the host's folder, "" if there is none; `opening` and `closing` are the text before and
      after its rules, and `earlier` has the openings that earlier versions of memctl wrote.
    - `names`: the paths of rules files that must be listed in a project's settings, because the host reads no others;
      () if that is not needed.
    """

    rule: str
    setting: tuple[str, ...] = ()
    file: str = ""
    opening: str = ""
    closing: str = ""
    names: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    def rules(self) -> dict[str, list[str]]:
        """Return all of memctl's permission rules in the host's form, by group of commands ("read" or "record")."""
        return {
            group: [self.rule.format(command=command, words=json.dumps(["memctl", *command.split()])) for command in of]
            for group, of in COMMANDS.items()
        }

    def list_entries(self, *, is_project: bool) -> dict[str, list[str]]:
        """Return the entries that memctl adds to the list in a host's settings, by group ("read" or "record").

        They are the rules themselves, or the paths of rules files; {} if the settings need no entry. `is_project` says
        whether the settings are a project's or those in the user's home.
        """
        if not self.file:
            return self.rules()
        return {group: list(self.names) for group in COMMANDS} if self.names and is_project else {}


FORMS: Mapping[str, Form] = {
    CLAUDE_CODE.name: Form("Bash(memctl {command}:*)", ("permissions", "allow")),
    CODEX.name: Form(
        'prefix_rule(pattern={words}, decision="allow")',
        file="rules/memctl.rules",
        opening="# What Codex runs without asking, and outside of its sandbox, which forbids writing to .git.\n",
        earlier=("# What Codex runs without asking, and outside of its sandbox, in which Git's folder is closed.\n",),
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
    """Return the permission rules that a settings or rules file is to have.

    `rules` are all of memctl's rules, by group of commands ("read" or "record"). If the user chose `groups`, the result
    is all rules of these groups. If `groups` is None, the result is

    - the rules that are `present` in the file, and
    - new rules, which no earlier edit `offered` for the file. But if rules of a group were offered before, and none of
      them is in the file, the user has removed them all, and the new rules of the group are left out, too.

    So a rule that the user removed is not added again.
    """
    chosen: list[str] = []
    for group, of in rules.items():
        is_left_out = any(rule in offered for rule in of) and not any(rule in present for rule in of)
        for rule in of:
            is_new = rule not in offered and not is_left_out
            is_wanted = group in groups if groups is not None else rule in present or is_new
            if is_wanted and rule not in chosen:
                chosen.append(rule)
    return chosen


def write_rules(text: str, form: Form, wanted: Sequence[str], gone: Collection[str]) -> str:
    """Return the text of a rules file with the `wanted` rules added and those in `gone` removed; "" if no rule is left.

    `text` is the present text, and `form` how the host writes rules.
    """
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
    is_empty = any(made == opening + form.closing for opening in (form.opening, *form.earlier))
    return "" if not wanted and is_empty else made


def rules_in(text: str, rules: Mapping[str, Sequence[str]]) -> list[str]:
    """Return those permission rules that are lines of a text.

    `rules` are the permission rules to look for, by group of commands.
    """
    lines = text.splitlines()
    return [rule for of in rules.values() for rule in of if rule in lines]


def granted_rules(host: Host, text: str, rules: str, name: str) -> list[str]:
    """Return the rules in a host's settings or rules file by which agents may run commands without asking.

    A rule is left out if another one in the settings forbids its commands, or makes the host ask before it runs them.
    `text` is the text of the settings, `rules` the text of the rules file; which of the two is read depends on the
    host. `name` is the settings file's name for messages. Raises MemctlError if memctl can't parse the settings.
    """
    form = FORMS[host.name]
    if form.file:
        return rules_in(rules, form.rules())
    above = form.setting[:-1]
    lists = (settings.list_at(text or "{}", (*above, key), name) for key in (form.setting[-1], *_STRONGER))
    allowed, *others = ([rule for rule in rules if isinstance(rule, str)] for rules in lists)
    stronger = [re.sub(r"(?:[:( ]\*)?\)?$", "", rule) for rules in others for rule in rules]
    patterns = [re.compile(rf"{re.escape(rule)}(?![\w-])") for rule in stronger]
    return [rule for rule in allowed if not any(pattern.match(rule) for pattern in patterns)]


def describe(host: Host, rules: Collection[str]) -> str:
    """Return a sentence on the commands that some rules let agents run without asking."""
    allowed = {
        group: [command for command, rule in zip(COMMANDS[group], of, strict=True) if rule in rules]
        for group, of in FORMS[host.name].rules().items()
    }
    parts = [f"to {group}, memctl {', '.join(commands)}" for group, commands in allowed.items() if commands]
    if not parts:
        ways = "`--allow all`, `--allow record` or `--allow read`"
        return f"agents have to ask before they run memctl; {ways} changes that"
    line = f"agents may run without asking: {'; '.join(parts)} (`--allow read` or `--allow none` limits that)"
    if allowed[RECORD]:
        line += "; each record is a commit, which runs your Git hooks; if a Git hook was changed, agents' commits wait"
        line += " until you run `memctl commit`"
    return line

"""Find what a session ran that a later one wants to know: commands that check or build the work, and its commits."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.session import failures, shell, steps, tool_calls
from memctl.session.trail import Places
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import code, one_line
from memctl.transcript.events import Event

_MOST = 20  # commands of a session, the latest
_LONGEST = 120  # characters of a command; longer ones are scripts for one occasion
_CHANGES_FOLDER = ("cd", "pushd", "set-location")
_COMMITTED = lazy_regex(r"(?m)^\[[^\]\n]*\b([0-9a-f]{7,40})\] (\S.*)$")  # what `git commit` prints
_COMMIT = lazy_regex(r"\bgit\b[^\n|;&]*\b(?:commit|cherry-pick|revert)\b")
_RESET = lazy_regex(r"\bgit\b[^\n|;&]*\breset (?:--soft |--hard )?HEAD(?:~([1-9])|[~^](?!\d))\s*(?![^;&|\n])")
_REDIRECTION = lazy_regex(r"(?:\s+(?:\d?(?:>>?|<)|&>>?)(?:&\d|\s*\S+))+\s*$")


def commits(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Return the ids and subjects of the commits that a session made and kept, as Git printed them."""
    made: list[tuple[str, str]] = []
    for result, call in failures.results(events):
        command = tool_calls.command_of(call.arguments)
        is_commit = _COMMIT.search(command) and "git init" not in command  # which is another repository
        printed = _COMMITTED.findall(result.text) if is_commit else []
        if not failures.is_failure(result, call):
            for reset in _RESET.finditer(command):  # for a commit that replaces them
                del made[-int(reset[1] or 1) :]
        if printed and "--amend" in command:
            del made[-1:]
        made += [(identifier, one_line(subject)) for identifier, subject in printed]
    return made


def outcomes(events: Sequence[Event], places: Places) -> list[str]:
    """Return the commands that check or build the work, and whose last run succeeded, as Markdown, the latest last.

    A command of a folder below the root of `places` begins with `cd`.
    """
    lines: dict[str, None] = {}
    for result, call in failures.results(events):
        is_failure = failures.is_failure(result, call)
        for command in _checks(call, places):
            lines.pop(code(command), None)
            if not is_failure:
                lines[code(command)] = None
    return list(lines)[-_MOST:]


def _checks(call: Event, places: Places) -> list[str]:
    """Return the commands of a call that check or build the work; only the last one if it hides the others' success.

    Checks that `&&` joins are one command: "mise run fmt && mise run lint".
    """
    text = tool_calls.command_of(call.arguments)
    folder, found, is_joined = call.cwd or places.root, list[str](), False
    for simple in shell.commands(text):
        if simple.words[1:] and simple.words[0].lower() in _CHANGES_FOLDER:
            written = simple.text.split(maxsplit=1)[-1].strip("'\"")  # a shell of Unix would drop the backslashes
            where, is_inside = places.locate(written if "\\" in written else simple.words[-1], folder)
            folder = f"{places.root}/{where}" if is_inside else where
        command = _REDIRECTION.sub("", simple.text)
        is_check = bool(simple.words and not simple.document and "\n" not in command)
        is_check = is_check and bool(steps.program(command))
        if is_check and is_joined and simple.operator == "&&":
            found[-1] = f"{found[-1]} && {command}"
        elif is_check:
            found.append(_in_folder(command, folder, places))
        is_joined = is_check and bool(found[-1])
    found = [command for command in found if command and len(command) <= _LONGEST]
    return found[-1:] if steps.hides_failures(text) else found


def _in_folder(command: str, folder: str, places: Places) -> str:
    """Return a command with the folder below the root to run it in, "" if it ran outside of the root."""
    where, is_inside = places.locate("here", folder)  # a path in the folder, since the root itself has none
    where = where.rpartition("/")[0]
    return "" if not is_inside else f"cd {where} && {command}" if where else command

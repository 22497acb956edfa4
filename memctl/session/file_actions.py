"""Find out what patches (`apply_patch` or unified diffs) and shell commands do to files, by reading their text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memctl.session import shell
from memctl.session.shell import ShellCommand
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ, WRITTEN
from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import NamedTuple


class FileAction(NamedTuple):
    """What a shell command, a patch or another tool call did to one file.

    - `path` is the path as the call gives it, relative to the folder `cwd`.
    - `action` is what happened to the file: "created", "modified", "written" (one of the two), "deleted" or "read".
    - `what` describes the action, such as "moved from a.py", "" if there is nothing to add.
    - `target` is "" unless it is open whether `path` is the file or a folder, as after `mv a.py b`. Then it is the name
      that the file has in this folder if `path` is one (a.py).
    """

    path: str
    action: str
    cwd: str = ""
    what: str = ""
    target: str = ""


_OURS = lazy_regex(r"^\*\*\* (Add|Update|Delete) File: (.*\S)[ \t\r]*$|^\*\*\* Move to: (.*\S)[ \t\r]*$", re.M)
_UNIFIED = lazy_regex(r"^--- ([^\t\n]+)(?:\t.*)?\n\+\+\+ ([^\t\n]+)", re.M)
_VERBS = {"Add": CREATED, "Update": MODIFIED, "Delete": DELETED}
_NOTHING = "/dev/null"


def patched(text: str, cwd: str) -> Iterator[FileAction]:
    """Yield what a patch does to each of its files; the paths in the patch are relative to the folder `cwd`."""
    last = ""
    for match in _OURS.finditer(text):
        if match[3]:
            yield from _rename(last, match[3], cwd)
        else:
            last = match[2]
            yield FileAction(last, _VERBS[match[1]], cwd)
    for match in () if last else _UNIFIED.finditer(text):
        before, after = (re.sub(r"^[ab]/", "", path.strip()) for path in match.groups())
        if before in (_NOTHING, after):
            yield FileAction(after, CREATED if before == _NOTHING else MODIFIED, cwd)
        elif after == _NOTHING:
            yield FileAction(before, DELETED, cwd)
        else:
            yield from _rename(before, after, cwd)


def _rename(before: str, after: str, cwd: str) -> Iterator[FileAction]:
    yield FileAction(before, DELETED, cwd, f"moved to {after}")
    yield FileAction(after, CREATED, cwd, f"moved from {before}")


_PREFIXES = ("sudo", "env", "command", "nohup", "exec", "builtin", "nice", "stdbuf", "xargs", "time")
_HARDLY_FAIL = ("cd", "pushd", "echo", "printf", "export", "set", "true")
_ASSIGNED = lazy_regex(r"[A-Za-z_]\w*=")
# Options whose value is the next word, which is not a file; one that takes two words is listed twice.
_VALUED = {
    "head": "-n -c",
    "tail": "-n -c",
    "sort": "-k -t -o -S",
    "cut": "-d -f -c -b",
    "uniq": "-f -s -w",
    "jq": "--arg --arg --argjson --argjson --slurpfile --slurpfile --rawfile --rawfile --indent -f --from-file -L",
    "stat": "-c -f -t --format --printf",
    "grep": "-A -B -C -m -e -f --include --exclude --exclude-dir",
    "rg": "-A -B -C -m -e -g -t -T --glob --type",
    "sed": "-e -f --expression --file",
    "perl": "-e -E",
    "awk": "-F -v -f",
    "touch": "-d -r -t",
    "tee": "--output-error",
    "diff": "-U -I -x --label --exclude",
}
_SAME = {  # programs that do one thing to each of their arguments
    READ: "cat head tail less more wc sort diff cmp file stat source . cut uniq",
    DELETED: "rm unlink",
    WRITTEN: "tee touch",
}
_SIMPLE = {name: action for action, names in _SAME.items() for name in names.split()}
_WITH_PATTERN = ("grep", "egrep", "fgrep", "rg", "awk", "jq")  # their first argument is a pattern, not a file
_NEVER = lazy_regex(r"/dev/(?:null|std(?:in|out|err)|tty|fd/\d+|zero|u?random)|-|\d+|&\d+|\+\w+")


def of_shell(text: str, cwd: str, *, failed: bool = False) -> Iterator[FileAction]:
    """Yield what the commands in a shell text do to files.

    `cwd` is the folder in which the first command runs; a `cd` in the text changes it for the commands after it.
    `failed` says that the text ended with an error. What follows `&&` or `||` is then left out, since nobody knows
    whether it ran. So is the last command if it is one that changes nothing when it fails, such as `git mv`.
    """
    all_commands = list(shell.commands(text))
    has_run = True
    before: list[str] = []
    for number, command in enumerate(all_commands, start=1):
        words = _bare(command.words)
        has_run = _has_run(command.operator, before, has_run)
        before = words
        if failed and (not has_run or (number == len(all_commands) and _does_all_or_nothing(words))):
            continue
        yield from _redirected(command, cwd)
        if words[:1] in (["cd"], ["pushd"]) and len(words) > 1:
            cwd = posixpath.normpath(posixpath.join(cwd, words[1])) if words[1] != "-" else cwd
        elif words:
            name = words[0].rpartition("/")[2]
            yield from _of_command(name, words[1:], command.document, cwd, failed=failed)


def _has_run(operator: str, before: Sequence[str], has_run_before: bool) -> bool:
    """Return whether a command of a failed text has surely run.

    `operator` stands between it and the command `before`; `has_run_before` says whether this one has surely run.
    """
    if operator == "&&":
        return has_run_before and (not before or before[0] in _HARDLY_FAIL)
    return has_run_before if operator in ("|", "|&", "(", ")") else operator != "||"


def _does_all_or_nothing(words: Sequence[str]) -> bool:
    """Return whether a command changes nothing if it fails: it removes, moves or copies one file, or Git does it."""
    if words[:1] == ["git"]:
        return words[1:2] in (["mv"], ["rm"])
    name = words[0].rpartition("/")[2] if words else ""
    files = _files(name, words[1:])
    if len(files) != {"rm": 1, "unlink": 1, "mv": 2, "cp": 2}.get(name):
        return False
    return not any(re.match(r"--recursive|-[a-zA-Z]*[rRa]", word) for word in words[1:])  # a folder may be half done


def unknown_words(text: str) -> int:
    """Return the number of words in a shell text that can't be known without running it, such as `$(date)`."""
    return sum(command.unknown for command in shell.commands(text))


def _bare(words: Sequence[str]) -> list[str]:
    """Return a command without launchers and assignments: `sudo env A=1 rm x` is `rm x`."""
    left = list(words)
    while left and (left[0] in _PREFIXES or left[0] == "timeout" or _ASSIGNED.match(left[0])):
        first = left.pop(0)
        while left and left[0].startswith("-") and first in _PREFIXES:
            left.pop(0)
        if first == "timeout" and len(left) > 1:
            left.pop(0)
    return left


def _redirected(command: ShellCommand, cwd: str) -> Iterator[FileAction]:
    for operator, target in command.redirects:
        if _NEVER.fullmatch(target) or operator in ("<&", "<<<"):
            continue
        if operator in ("<", "<>"):
            yield FileAction(target, READ, cwd)
        else:
            yield FileAction(target, WRITTEN, cwd, "appended to" if operator in (">>", "&>>") else "")


def _of_command(name: str, args: list[str], document: str, cwd: str, *, failed: bool = False) -> Iterator[FileAction]:
    if name == "git" and args:
        yield from _git(args, document, cwd)
    elif name in shell.SHELLS:
        yield from of_shell(shell.inner_text(ShellCommand((name, *args))) or document, cwd, failed=failed)
    elif name in ("apply_patch", "applypatch", "patch"):
        yield from patched(document or "\n".join(args), cwd)
    elif name in _SIMPLE:
        yield from _each(_files(name, args), _SIMPLE[name], cwd)
    elif name in _WITH_PATTERN:
        has_pattern = any(arg in ("-e", "-f", "--from-file") for arg in args)
        yield from _each([f for f in _files(name, args)[0 if has_pattern else 1 :] if _names_a_file(f)], READ, cwd)
    elif (special := _COMMANDS.get(name)) is not None:
        yield from special(args, cwd)


def _names_a_file(word: str) -> bool:
    """Return whether a word looks like a file rather than a folder."""
    return not word.endswith(("/", ".")) and "." in word.rpartition("/")[2]


def _files(name: str, args: Sequence[str]) -> list[str]:
    """Return the arguments of a command that are neither options nor values of options."""
    valued = _VALUED.get(name, "").split()
    files: list[str] = []
    skip, is_rest = 0, False
    for arg in args:
        if skip:
            skip -= 1
        elif arg == "--" and not is_rest:
            is_rest = True
        elif arg.startswith("-") and arg != "-" and not is_rest:
            skip = valued.count(arg)
        elif not _NEVER.fullmatch(arg) or is_rest:
            files.append(arg)
    return files


def _each(paths: Sequence[str], action: str, cwd: str, what: str = "") -> Iterator[FileAction]:
    yield from (FileAction(path, action, cwd, what) for path in paths if not _NEVER.fullmatch(path))


def _git(args: list[str], document: str, cwd: str) -> Iterator[FileAction]:
    while args[:1] == ["-C"] or args[:1] == ["-c"]:
        cwd = posixpath.join(cwd, args[1]) if args[0] == "-C" and len(args) > 1 else cwd
        args = args[2:]
    verb, rest = (args[0], args[1:]) if args else ("", [])
    if verb == "rm" and "--cached" not in rest:
        yield from _each(_files("git", rest), DELETED, cwd)
    elif verb == "mv":
        yield from _transfer(rest, cwd, moves=True)
    elif verb == "apply":
        yield from patched(document, cwd)
    elif verb == "restore" and not {"--staged", "-S"} & set(rest):
        yield from _each(_files("git", rest), MODIFIED, cwd, "restored from Git")
    elif verb == "checkout" and "--" in rest:
        yield from _each(rest[rest.index("--") + 1 :], MODIFIED, cwd, "restored from Git")


def _targets(args: list[str]) -> tuple[list[str], str, bool]:
    """Return the sources and the target of a move or copy, and whether the target is certainly a folder."""
    for option in ("-t", "--target-directory"):
        if option in args[:-1]:
            place = args.index(option)
            return _files("", args[:place] + args[place + 2 :]), args[place + 1], True
    *sources, target = _files("", args) or [""]
    return sources, target, len(sources) > 1 or target.endswith(("/", "/.", "..")) or target == "."


def _transfer(args: list[str], cwd: str, *, moves: bool = False) -> Iterator[FileAction]:
    sources, target, is_folder = _targets(args)
    for source in sources:
        name = posixpath.basename(source.rstrip("/"))
        new = posixpath.join(target, name) if is_folder else target
        yield FileAction(source, DELETED if moves else READ, cwd, f"moved to {new}" if moves else "")
        what = f"{'moved' if moves else 'copied'} from {source}"
        yield FileAction(new, WRITTEN, cwd, what, target="" if is_folder else name)


def _stream_edit(args: list[str], cwd: str) -> Iterator[FileAction]:
    in_place = any(re.fullmatch(r"-[a-zA-Z]*i.*|--in-place.*", arg) for arg in args)
    if in_place and "-i" in args[:-1] and args[args.index("-i") + 1] == "":  # as on BSD
        args = [arg for arg in args if arg]
    files = _files("sed", args)
    has_script = any(arg in ("-e", "-f") or arg.startswith(("-e", "--expression", "--file")) for arg in args)
    yield from _each(files[0 if has_script else 1 :], MODIFIED if in_place else READ, cwd)


def _perl(args: list[str], cwd: str) -> Iterator[FileAction]:
    script = next((place for place, arg in enumerate(args) if re.fullmatch(r"-[a-zA-Z0-9]*e", arg)), -1)
    if script >= 0:
        in_place = any(re.match(r"-[a-zA-Z0-9]*i", arg) for arg in args[: script + 1])
        yield from _each(_files("perl", args[script + 2 :]), MODIFIED if in_place else READ, cwd)


_COMMANDS: dict[str, Callable[[list[str], str], Iterator[FileAction]]] = {
    "mv": partial(_transfer, moves=True),
    **dict.fromkeys(("cp", "install"), _transfer),
    **dict.fromkeys(("sed", "gsed"), _stream_edit),
    "perl": _perl,
}

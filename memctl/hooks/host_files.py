"""Change hosts' settings files and restore them: plan an edit, write it, and undo it when memctl is uninstalled.

The original bytes of a file (those before memctl's first edit) are kept until memctl is uninstalled, in a folder that
only the user can read, since settings may contain keys. If only memctl has changed a file, it is restored byte for
byte; from any other file only memctl's entries are removed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memctl.errors import MemctlError
from memctl.hooks import agents_md, permissions, settings
from memctl.hooks.hosts import Host
from memctl.hooks.permissions import FORMS, Form
from memctl.store import files

_BOM = "\ufeff"
_MOST_BYTES = 4 * 1024 * 1024


class Edit(msgspec.Struct, frozen=True):
    """A planned edit of one settings file. Nothing is written before `carry_out`.

    - `name`: the file's name for people; `file`: its path, with symbolic links resolved.
    - `before`, `after`: the file's bytes before and after the edit; None if the file does not exist then.
    - `note`: a remark for people.
    - `offered`: all permission rules that this version of memctl knows, whether the user wants them or not. So a later
      version can tell a rule that the user removed from a new rule.
    - `put`: the permission rules that memctl has added to the file, in this edit or an earlier one.
    """

    name: str
    file: Path
    before: bytes | None
    after: bytes | None
    note: str = ""
    offered: tuple[str, ...] = ()
    put: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the file's bytes after the edit differ from those before it."""
        return self.before != self.after


class OriginalFile(msgspec.Struct, frozen=True):
    """The original of a file that memctl edited: its path and its bytes before the first edit.

    - `before`: the original bytes in base64, None if the file did not exist.
    - `after`: a hash of the bytes that memctl's last edit wrote, "" if no edit changed anything. If the file has other
      bytes now, somebody else has changed it.
    - `made_folder`: whether memctl created the file's folder.
    - `offered`, `put`: the permission rules of the last edit (see `Edit`).
    """

    path: str
    before: str | None
    after: str
    made_folder: bool = False
    offered: tuple[str, ...] = ()
    put: tuple[str, ...] = ()


class Allowed(NamedTuple):
    """The permission rules to write to a host's settings: which commands of memctl agents may run without asking.

    `rules` are all rules, by group of commands ("read" or "record"). `groups` are the groups that the user chose, None
    if the user made no choice (see `permissions.choose`). `declined` are rules that are not added to a
    project's settings unless the user chose their group, since they are missing in the user's own (`declined_rules`).
    """

    rules: Mapping[str, Sequence[str]]
    groups: Collection[str] | None = None
    declined: Collection[str] = ()


class OriginalFiles:
    """A folder with the originals (`OriginalFile`) of the files that memctl edited, each as one JSON file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, file: Path) -> OriginalFile | None:
        """Return the original of a file, None if none is stored."""
        try:
            return msgspec.json.decode(self._file(file).read_bytes(), type=OriginalFile)
        except (OSError, msgspec.DecodeError):
            return None

    def keep(self, file: Path, original: OriginalFile) -> None:
        """Store the original of a file."""
        files.replace_private(self._file(file), msgspec.json.encode(original).decode())

    def forget(self, file: Path) -> None:
        """Delete the stored original of a file, if there is one."""
        self._file(file).unlink(missing_ok=True)

    def _file(self, file: Path) -> Path:
        return self._folder / f"{hashlib.blake2b(os.fsencode(file), digest_size=12).hexdigest()}.json"


def state_home(environ: Mapping[str, str]) -> Path:
    """Return the folder that keeps the originals of the settings files in the user's home.

    An original is the file as it was before memctl's first edit. The folder is below XDG_STATE_HOME if `environ` has
    this variable, otherwise below ~/.local/state.
    """
    folder = environ.get("XDG_STATE_HOME", "")
    return (
        (Path(folder) if os.path.isabs(folder) else files.home_folder() / ".local" / "state") / "memctl" / "installed"
    )


def settings_edit(
    file: Path,
    name: str,
    top: Path | None,
    host: Host,
    call: Mapping[str, Any] | None,
    originals: OriginalFiles,
    allowed: Allowed,
) -> Edit:
    """Plan the edit of a host's settings file: add memctl's hooks and permission rules, or remove them.

    - `file`, `name`: the file's path, and its name for people.
    - `top`: the worktree, None for a file in the user's home. If a symbolic link in the path leads out of the worktree,
      the edit is refused.
    - `call`: the fields of a hook that make it call memctl (`settings.hook_call`). If it is None, the hooks and rules
      are removed.
    - `originals`: the stored originals, which also say what memctl did to the file before.
    - `allowed`: the permission rules that the file is to have.

    Raises MemctlError if the settings can't be edited; its hint has the lines to add by hand.
    """
    target, path = _target(file, name, top), FORMS[host.name].setting
    original = originals.find(target)
    if call is None:

        def remove(text: str) -> str:
            ours = _own_rules(original, allowed)
            return settings.change_list(settings.remove_hooks(text, name), path, [], ours, name)

        return _removal(file, name, top, remove, originals)
    text, _ = _text(_content(target, name), name)
    try:
        present = settings.list_at(text, path, name) if path and text.strip() else []
        wanted, gone = _choice(allowed, original, present)

        def add(text: str) -> str:
            return settings.change_list(settings.add_hooks(text, host, call, name), path, wanted, gone, name)

        edit = _addition(file, name, top, add)
    except MemctlError as error:
        wanted = permissions.choose(allowed.rules, allowed.groups, (), [])
        lines = settings.change_list(settings.add_hooks("", host, call, name), path, wanted, [], name)
        hint = "nothing was changed; correct the file and run the command again, or add this by hand:"
        raise MemctlError(error.message, f"{hint}\n{lines.rstrip()}") from None
    return _with_rules(edit, original, allowed, wanted, present)


def rules_edit(
    file: Path, name: str, top: Path | None, form: Form, originals: OriginalFiles, allowed: Allowed | None
) -> Edit:
    """Plan the edit of a host's file of permission rules: add memctl's rules, or remove them if `allowed` is None.

    - `file`, `name`: the file's path, and its name for people.
    - `top`: the worktree, None for a file in the user's home. If a symbolic link in the path leads out of the worktree,
      the edit is refused.
    - `form`: how the host writes rules.
    - `originals`: the stored originals, which also say what memctl did to the file before.
    - `allowed`: the permission rules that the file is to have.
    """
    target = _target(file, name, top)
    original, rules = originals.find(target), form.rules()
    if allowed is None:
        ours = _own_rules(original, Allowed(rules))
        return _removal(file, name, top, lambda text: permissions.write_rules(text, form, [], ours), originals)
    text, _ = _text(_content(target, name), name)
    present = permissions.rules_in(text, rules)
    wanted, gone = _choice(allowed, original, present)
    edit = _addition(file, name, top, lambda text: permissions.write_rules(text, form, wanted, gone))
    if edit.after == b"":
        edit = msgspec.structs.replace(edit, after=None)
    return _with_rules(edit, original, allowed, wanted, present)


def declined_rules(host: Host, environ: Mapping[str, str]) -> list[str]:
    """Return the permission rules that memctl offered for a host's settings in the user's home, and that are not there.

    The user has removed these rules or left them out, so memctl adds them to a project's settings only if it is asked
    to.
    """
    form, own = FORMS[host.name], settings.place(host, settings.USER, Path(), environ)
    file = Path(os.path.realpath(own.file.parent / form.file if form.file else own.file))
    originals = OriginalFiles(state_home(environ)).find(file)
    if originals is None:
        return []
    try:
        text, _ = _text(_content(file, own.shown), own.shown)
        in_settings = [] if form.file else settings.list_at(text, form.setting, own.shown)
    except MemctlError:
        return []
    present = permissions.rules_in(text, form.rules()) if form.file else in_settings
    return [rule for rule in originals.offered if rule not in present]


def _choice(allowed: Allowed, original: OriginalFile | None, present: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the rules to have in a file, and memctl's rules to remove from it."""
    offered = {*(original.offered if original else ()), *allowed.declined}
    wanted = permissions.choose(allowed.rules, allowed.groups, offered, present)
    return wanted, [rule for rule in _own_rules(original, allowed) if rule not in wanted]


def _own_rules(original: OriginalFile | None, allowed: Allowed) -> tuple[str, ...]:
    """Return the rules that memctl has added to a file; all rules of memctl's form if that is not recorded."""
    return original.put if original and original.after else tuple(rule for of in allowed.rules.values() for rule in of)


def _with_rules(
    edit: Edit, original: OriginalFile | None, allowed: Allowed, wanted: Sequence[str], present: Sequence[str]
) -> Edit:
    """Return an edit with the permission rules that it offers and that memctl has added so far."""
    before = original.put if original else ()
    new = (rule for rule in wanted if rule not in present and rule not in before)
    offered = tuple(rule for of in allowed.rules.values() for rule in of)
    return msgspec.structs.replace(edit, offered=offered, put=(*before, *new))


def guide_edits(folder: Path, top: Path, originals: OriginalFiles, *, remove: bool) -> list[Edit]:
    """Plan the edits of AGENTS.md and CLAUDE.md in a folder: add memctl's block, or delete it if `remove` is True.

    `top` is the worktree: a symbolic link that leads out of it is refused. `originals` has the files as they were
    before memctl's first edit, to restore them.
    """
    edits: list[Edit] = []
    for name in (agents_md.AGENTS, agents_md.CLAUDE):
        file = folder / name
        if edits and os.path.realpath(file) == os.path.realpath(edits[0].file):  # one is a link to the other
            edits.append(Edit(name, file, b"", b"", f"the file is the same as {agents_md.AGENTS}"))
        elif remove:
            edits.append(_removal(file, name, top, partial(agents_md.remove_block, name=name), originals))
        else:
            edits.append(_addition(file, name, top, partial(agents_md.add_block, name=name)))
    return edits


def whole_file_edit(file: Path, name: str, top: Path, text: str | None, originals: OriginalFiles) -> Edit:
    """Plan the edit of a file that memctl writes as a whole, and whose first line says so; None removes it.

    Raises MemctlError if there is another file with that name.
    """

    def change(present: str) -> str:
        is_ours = present.startswith("# Written by `memctl install ")
        if text is not None and present and not is_ours:
            hint = f"rename {name}, run the command again, and compare the two files"
            raise MemctlError(f"{name} exists, and memctl did not write it", hint)
        return text or ("" if is_ours else present)

    if text is None:
        return _removal(file, name, top, change, originals)
    return _addition(file, name, top, change)


def carry_out(edit: Edit, originals: OriginalFiles, *, remove: bool) -> None:
    """Write a planned edit atomically, keeping the file's mode.

    If `remove` is False, the file's original is stored in `originals`. If `remove` is True, the edit removes memctl's
    entries, and the stored original is deleted. Raises MemctlError, and leaves the file unchanged, if the file can't be
    written, or if it changed after the edit was planned.
    """
    original = originals.find(edit.file)
    if not edit.changes:
        if remove:
            originals.forget(edit.file)
        elif edit.offered:
            old = original or OriginalFile(str(edit.file), None, "")
            originals.keep(edit.file, msgspec.structs.replace(old, offered=edit.offered, put=edit.put))
        return
    if _content(edit.file, edit.name) != edit.before:
        raise MemctlError(f"another program has just changed {edit.name}", "run the command again")
    try:
        if remove:
            _write(edit)
            folder = edit.file.parent
            if edit.after is None and original and original.made_folder and not any(folder.iterdir()):
                folder.rmdir()
            originals.forget(edit.file)
            return
        is_ours = original is not None and edit.before is not None and original.after == _digest(edit.before)
        before = None if edit.before is None else base64.b64encode(edit.before).decode()
        is_new_folder = not edit.file.parent.exists()
        old = original if original is not None and is_ours else OriginalFile(str(edit.file), before, "", is_new_folder)
        made = msgspec.structs.replace(old, after=_digest(edit.after or b""), offered=edit.offered, put=edit.put)
        originals.keep(edit.file, made)
        _write(edit)
    except OSError as error:
        raise MemctlError(f"{edit.name} can't be written: {error.strerror}") from None


def _addition(file: Path, name: str, top: Path | None, change: Callable[[str], str]) -> Edit:
    """Plan an edit that adds memctl's entries, by `change`; links in the path must not lead out of `top`."""
    target = _target(file, name, top)
    before = _content(target, name)
    text, has_mark = _text(before, name)
    after = change(text)
    is_same = before is not None and after == text
    return Edit(name, target, before, before if is_same else _encode(after, has_mark))


def _removal(file: Path, name: str, top: Path | None, change: Callable[[str], str], originals: OriginalFiles) -> Edit:
    """Plan an edit that removes memctl's entries: it restores the original file, or else applies `change`."""
    target = _target(file, name, top)
    before = _content(target, name)
    if before is None:
        return Edit(name, target, None, None, "the file does not exist")
    original = originals.find(target)
    if original is not None and original.after == _digest(before):
        former = None if original.before is None else _without_ours(original.before, name, change)
        return Edit(name, target, before, former)
    text, has_mark = _text(before, name)
    after = change(text)
    if after == text:
        return Edit(name, target, before, before, "the file has no entries of memctl")
    if original is not None and original.before is None and original.after and after.strip() in ("", "{}"):
        return Edit(name, target, before, None)  # memctl created the file, and nothing else is in it
    return Edit(name, target, before, _encode(after, has_mark))


def _without_ours(encoded: str, name: str, change: Callable[[str], str]) -> bytes:
    """Return an original byte for byte, without entries of memctl that it had already, such as from another clone."""
    data = base64.b64decode(encoded)
    text, has_mark = _text(data, name)
    after = change(text)
    return data if after == text else _encode(after, has_mark)


def _encode(text: str, has_mark: bool) -> bytes:
    return ((_BOM if has_mark else "") + text).encode()


def _target(file: Path, name: str, top: Path | None) -> Path:
    """Return a file's path with links resolved; raises MemctlError if it is outside of `top`.

    Otherwise the author of a project could choose, by a link, which of the user's files memctl edits.
    """
    target = Path(os.path.realpath(file))
    if top is not None and not target.is_relative_to(os.path.realpath(top)):
        hint = f"replace the link {name} with a file"
        raise MemctlError(f"{name} is a link to {target}, which is outside of the project", hint)
    return target


def _content(file: Path, name: str) -> bytes | None:
    """Return the bytes of a settings file, None if it is missing; raises MemctlError if it can't be edited."""
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):
            raise MemctlError(f"{name} is not a regular file", f"move {name} away first")
        if status.st_size > _MOST_BYTES:
            hint = f"memctl edits files of at most {_MOST_BYTES:,} bytes; check that {name} is a settings file"
            raise MemctlError(f"{name} has {status.st_size:,} bytes, which is too large for a settings file", hint)
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MemctlError(f"{name} can't be read: {error.strerror}") from None


def _text(data: bytes | None, name: str) -> tuple[str, bool]:
    """Return a file's text without its byte order mark, and whether it has one; raises MemctlError for non-UTF-8."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        raise MemctlError(f"{name} is not UTF-8 text", "nothing was changed; save the file as UTF-8") from None
    return text.removeprefix(_BOM), text.startswith(_BOM)


def _write(edit: Edit) -> None:
    """Write or delete the file of an edit, atomically and with its former mode."""
    if edit.after is None:
        edit.file.unlink()
        return
    edit.file.parent.mkdir(parents=True, exist_ok=True)
    temporary = edit.file.with_name(f".memctl-{edit.file.name}")
    temporary.unlink(missing_ok=True)
    mode = stat.S_IMODE(edit.file.stat().st_mode) if edit.before is not None else None
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if mode is not None else 0o666)
    with open(descriptor, "wb") as stream:
        stream.write(edit.after)
    if mode is not None:
        os.chmod(temporary, mode)
    os.replace(temporary, edit.file)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()

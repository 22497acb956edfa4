"""Files changed without memctl: which of them belong to the memory, and for what reasons a file is not committed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from contextlib import suppress

from memctl.errors import CredentialFound, MemctlError
from memctl.git import trees
from memctl.pages import generated_header
from memctl.pages.links import FOLDER, SOURCES
from memctl.record import pages
from memctl.record.change import Change, Delete, Write, rewords
from memctl.record.errors import InvalidRecord
from memctl.record.parser import parse
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.team import guard
from memctl.write import credentials, documents

_ID = re.compile(r"""^id:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)
# The hint for a file with a credential.
SECRET_HINT = "remove the credential, or commit it with `memctl commit --allow-secret`"


def is_ours(path: str, code: str) -> bool:
    """Return whether a file below `.memory/` that was changed by hand belongs to the memory.

    `code` are the two letters that `git status` prints for the file, such as "??" for an untracked one. An untracked
    file belongs to the memory only if it is of a kind that memctl knows, such as a record or a template.
    """
    known = path in ("README.md", "config.yaml", ".gitattributes") or path.startswith("templates/")
    if known or code != "??" or files.is_record_path(path) or pages.kind_at(path) is not None:
        return True
    from memctl.record import checkpoint, session_page

    return session_page.is_page(path) or session_page.is_trail(path) or checkpoint.is_file(path)


def conflict(memory: Memory, path: str, code: str | None) -> tuple[str, str] | None:
    """Return the reason why a file is not committed, and a hint, if it is in a conflict that its text does not show.

    `code` are the two letters that `git status` prints for the file.
    """
    if code not in ("DD", "AU", "UD", "UA", "DU"):  # conflicts without markers: one side deleted, added or renamed it
        return None
    name = shlex.quote(memory.tracked(path))
    why = f"{memory.tracked(path)} is in an unresolved conflict: one side deleted it, and the other changed it"
    return why, f"`git add {name}` keeps the file, and `git rm {name}` deletes it; then run `memctl commit`"


def objection(
    memory: Memory, path: str, *, allow_accepted: bool = False, allow_secret: bool = False, strict: bool = False
) -> tuple[str, str] | None:
    """Return the reason why a file changed by hand is not committed, and a hint; None if it may be committed.

    A file is not committed

    - if it is invalid, no regular file, or a rendered document
    - if it has what looks like a credential, unless `allow_secret`
    - if it changes the text of an accepted decision, unless `allow_accepted`
    - if it is in a section of another agent's
    - if `strict` is True and `memctl check` would find a new fault in it (`advice`)
    """
    why, hint = "", f"correct {memory.tracked(path)} first"
    try:
        if path.endswith("/"):
            why = f"{memory.tracked(path)} is a Git repository of its own"
            hint = f"move {memory.tracked(path)} out of the memory"
        elif (memory.folder / path).exists() or (memory.folder / path).is_symlink():
            files.locate(memory.folder, path)
            text = files.read(memory.folder, path)
            before = text_in_head(memory, path)
            if files.is_record_path(path):
                parse(text, path)
                if not allow_accepted and before is not None and rewords(before, text, path):
                    why = f"the decision in {memory.tracked(path)} is accepted: its text can't be changed any more"
                    hint = (
                        f"run `git restore {memory.tracked(path)}` and supersede the decision, or correct a typing "
                        "error with --allow-accepted"
                    )
            else:
                _refuse_broken(memory, text, path, before)
            change = Change(op="commit", title="", writes=(Write(path, text, before),))
            if not allow_secret:
                credentials.refuse(change, allowed=lambda: memory.allowed_secrets)
            guard.refuse_manual_edits(memory, change)
            if strict and (lack := advice(memory, path)):
                why, hint = f"{memory.tracked(path)}: {lack}", "correct the record, or commit without --strict"
        elif (before := text_in_head(memory, path)) is not None:
            guard.refuse_manual_edits(memory, Change(op="commit", title="", deletes=(Delete(path, before),)))
    except InvalidRecord as error:
        why = f"{memory.prefix}/{error}"
    except CredentialFound as error:
        why, hint = f"{memory.tracked(path)}: {error.message}", SECRET_HINT
    except MemctlError as error:
        why, hint = f"{memory.tracked(path)}: {error.message}", error.hint or hint
    except OSError as error:
        why = f"{memory.tracked(path)}: {error.strerror}"
    return (why, hint) if why else None


def misnamed(memory: Memory, gone: Iterable[str], others: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the deletions by hand that are not committed since the file was only renamed, with the reason and a hint.

    `gone` are the paths of the deleted files, and `others` those of files that stay uncommitted. If one of these has
    the id of a deleted file, somebody has renamed the record or page. To commit only the deletion would remove it from
    the memory.
    """
    by_id: dict[str, str] = {}
    for path in others:
        try:
            by_id.setdefault(_id_of(files.read(memory.folder, path)), path)
        except (InvalidRecord, OSError):
            continue  # a deleted file, a folder, or one that is not text
    found = {}
    for path in gone if by_id.keys() - {""} else ():
        identifier = _id_of(text_in_head(memory, path) or "")
        if other := by_id.get(identifier) if identifier else None:
            old, new = memory.tracked(path), memory.tracked(other)
            why = f"{old} was renamed to {new}, but a record's file must keep its name"
            hint = f"`mv {shlex.quote(new)} {shlex.quote(old)}`; to delete {identifier}, delete {new}, too"
            found[path] = (why, hint)
    return found


def _id_of(text: str) -> str:
    """Return the value of `id` in a file's front matter, also of one that can't be read otherwise; "" without one."""
    front_matter = text.partition("\n---")[0] if text.startswith("---\n") else ""
    match = _ID.search(front_matter)
    return match[1] if match else ""


def _is_edited_document(memory: Memory, path: str, text: str, before: str | None) -> bool:
    """Return whether a file with the text `text`, and in HEAD `before`, is a rendered document that a person edited."""
    if not path.startswith(f"{FOLDER}/") or before is None or generated_header.split(before) is None:
        return False
    making, name = documents.renderer(memory, load.disk(memory)), path.rpartition("/")[2]
    wanted = None
    with suppress(MemctlError, KeyError):  # a broken template, a page that is gone
        wanted = making.sources() if name == SOURCES else making.document(name)
    return making.is_edited(path, text, wanted)


def advice(memory: Memory, path: str) -> str:
    """Return the faults that a change by hand brought into a record or page, as `memctl check` finds them; "" if none.

    An example is a missing rationale. `path` is below `.memory/`.
    """
    from memctl.write import hints

    try:
        write = Write(path, files.read(memory.folder, path), text_in_head(memory, path))
    except (OSError, InvalidRecord):
        return ""
    return "".join(hints.hints_for(memory, Change(op="commit", title="", writes=(write,))))


def _refuse_broken(memory: Memory, text: str, path: str, before: str | None) -> None:
    """Raise MemctlError for a session's page or checkpoint that nobody can read, and for an edited document."""
    if _is_edited_document(memory, path, text, before):
        raise MemctlError(
            "this is a rendered document: the next rendering would lose the edit",
            "edit the record or page that the document shows instead, then run `memctl page render --force`",
        )
    from memctl.record import checkpoint, session_page

    if session_page.is_page(path) or session_page.is_trail(path):
        session_page.parse(text, path)
    elif checkpoint.is_json(path):
        checkpoint.parse(text, path)


def text_in_head(memory: Memory, path: str) -> str | None:
    """Return the text that a file has in HEAD; None if HEAD does not have it."""
    return trees.text(memory.repository, "HEAD", memory.tracked(path))

"""Erasing secrets from what memctl keeps in the Git directory: drafts, logs, notes, events, backups and the cache.

Every file of memctl's folders there is read, whatever its kind, so that files of later versions are covered.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.store import cache_update, files, lock, search_index
from memctl.store.cache import FILE, Cache, discard

_PATIENCE = 10.0  # seconds to wait for a file's lock, which its writers hold for milliseconds

Redact = Callable[[str], str]


class Erasure(msgspec.Struct, frozen=True):
    """What came of erasing a secret from files.

    `files` are the files from which the secret was erased. `failed` are the files from which it could not be erased,
    each with the reason.
    """

    files: tuple[Path, ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()


def erase(folders: Iterable[Path], redact: Redact, held: Path, *, dry_run: bool = False) -> Erasure:
    """Redact every text file below `folders`, and remove the traces of deleted rows from each cache.

    `redact` returns a text without its secrets. A binary file with a secret, and every search index, is deleted, since
    memctl can make such files again. If there is a lock file beside a file, its lock is held while the file is
    rewritten. `held` is the lock file whose lock the caller holds already; it is not locked again.

    With `dry_run` no file is changed, and the result lists the files that would be changed. Caches and search indexes
    are not listed in the result, whether or not they had a secret.
    """
    done: list[Path] = []
    failed: list[tuple[Path, str]] = []
    for file in _files(folders):
        try:
            if file.name == FILE:
                _erase_from_cache(file, dry_run)
            elif file.name.startswith(search_index.NAME):
                if not dry_run:
                    discard(file)  # FTS5 leaves words of deleted rows in it (`secure-delete` came with SQLite 3.42)
            elif _erase_file(file, redact, held, dry_run):
                done.append(file)
        except (OSError, sqlite3.Error) as error:
            failed.append((file, str(error)))
        except MemctlError as error:
            failed.append((file, error.message))
    return Erasure(tuple(done), tuple(failed))


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        for base, _, names in os.walk(folder):
            for name in sorted(names):
                file = Path(base, name)
                if file.is_file() and not file.is_symlink():
                    yield file


def _erase_file(file: Path, redact: Redact, held: Path, dry_run: bool) -> bool:
    if _redacted_text(file, redact) is None:
        return False
    if dry_run:
        return True
    with ExitStack() as locks:
        for beside in (file.with_suffix(".lock"), file.with_name(f"{file.name}.lock"), file.with_name("lock")):
            if beside.exists() and beside not in (file, held):
                locks.enter_context(lock.hold(beside, _PATIENCE))
        text = _redacted_text(file, redact)  # read again, now that no other process can write
        if text == "":
            file.unlink()
        elif text is not None:
            files.replace_private(file, text)
    return True


def _redacted_text(file: Path, redact: Redact) -> str | None:
    """Return the text of a file with its secrets redacted; None if it has none, "" if it is a binary file."""
    data = file.read_bytes()
    text = data.decode("utf-8", "surrogateescape")
    if file.parent.name == "installed":  # files as they were before `memctl install`, in JSON and base64
        text = _redact_backup(text, redact)
    redacted = redact(text)
    if redacted.encode("utf-8", "surrogateescape") == data:
        return None
    try:
        redacted.encode()
    except UnicodeEncodeError:
        return ""
    return redacted


def _redact_backup(text: str, redact: Redact) -> str:
    try:
        values = json.loads(text)
        before = base64.b64decode(values["before"], validate=True).decode()
    except (ValueError, KeyError, TypeError, binascii.Error):
        return text
    redacted = redact(before)
    if redacted == before:
        return text
    return json.dumps({**values, "before": base64.b64encode(redacted.encode()).decode()})


def _erase_from_cache(file: Path, dry_run: bool) -> None:
    if not dry_run:
        cache = Cache.open(file)
        with closing(cache.database):
            if not cache.database.execute("PRAGMA database_list").fetchone()[2]:  # it could not be opened
                raise MemctlError("another process is using memctl's cache of the memory", "run the command again")
            cache_update.erase(cache)

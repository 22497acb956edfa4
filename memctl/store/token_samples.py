"""Token counts that models reported, each stored beside memctl's own estimate for the same text.

They are measurements of this machine, so they are in a file of the Git directory that all worktrees share, in no
commit. The file can be deleted at any time, and a damaged one counts as empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.store import files, lock

_FILE = "token-samples.json"
MOST_KEPT = 1_000  # samples of a model; with a smoothing rate of .2 older ones would have no weight
_PATIENCE = 5.0  # seconds; to write the file takes a few milliseconds


class TokenSample(msgspec.Struct, frozen=True):
    """The token count of a text as a model reported it, beside memctl's own estimate.

    `digest` identifies the text. `kinds` are the kinds of text that it contains, such as code, separated by spaces.
    """

    digest: bytes
    kinds: str  # separated by spaces
    estimate: int
    reported: int


def add(folder: Path, model: str, samples: Iterable[TokenSample]) -> None:
    """Store samples of a model in the order given, unless they are known.

    `folder` is the one with the file of all samples. Raises MemctlError if that file can't be written.
    """
    with _changing(folder) as known:
        own = {sample.digest: sample for sample in known.get(model, [])}
        for sample in samples:
            own.setdefault(sample.digest, sample)
        known[model] = list(own.values())[-MOST_KEPT:]


def samples_of(folder: Path, model: str) -> list[TokenSample]:
    """Return a model's samples in the file of all samples in `folder`, oldest first; none if the file can't be used."""
    return _read(folder).get(model, [])


def models(folder: Path) -> list[str]:
    """Return the names of the models with stored samples."""
    return sorted(_read(folder))


def forget(folder: Path, model: str) -> None:
    """Delete the samples of a model; raises MemctlError if that fails."""
    with _changing(folder) as known:
        known.pop(model, None)


def _read(folder: Path) -> dict[str, list[TokenSample]]:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=dict[str, list[TokenSample]])
    return {}


@contextmanager
def _changing(folder: Path) -> Iterator[dict[str, list[TokenSample]]]:
    file = folder / _FILE
    try:
        with lock.hold(file.with_suffix(".lock"), _PATIENCE):
            known = _read(folder)
            yield known
            files.replace_private(file, msgspec.json.encode(known).decode())
    except OSError as error:
        raise MemctlError(f"{file} can't be written: {error.strerror}") from None

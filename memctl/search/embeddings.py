"""Compare texts by meaning, with a static embedding model that is already on this machine (the extra `semantic`).

A static model has a vector for each token, and the vector of a text is the mean of its tokens' vectors, which numpy
computes. Nothing is ever downloaded: the model is a folder, or a part of an installed package. Only the user's own Git
configuration names the model, never the repository, because native code reads the model's files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.errors import MemctlError
from memctl.record.snapshot import Snapshot
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    import numpy

_PACKAGE = lazy_regex(r"[A-Za-z_]\w*")
_SETTING = "memctl.semanticModel"
_AT_ONCE = 1_000  # texts that the model gets in one call
_HINT = (
    f"`git config --global {_SETTING} NAME`: NAME is the folder of a model2vec model, or an installed package with one"
)


class ModelError(MemctlError):
    """Raised if the embedding model that the user configured can't be used."""


class Model:
    """An embedding model, which turns texts into vectors; texts of similar meaning get similar vectors.

    `fingerprint` identifies the model, so that vectors of different models are never mixed in the cache.
    """

    def __init__(self, encoder: Any, fingerprint: bytes) -> None:
        self._encoder = encoder
        self._fingerprint = fingerprint

    def vectors(self, texts: Sequence[str]) -> numpy.ndarray[Any, Any]:
        """Return a matrix with one row per text: a vector of length 1, or zeros for a text without a known token."""
        import numpy

        vectors = numpy.asarray(self._encoder.encode(list(texts), use_multiprocessing=False), dtype=numpy.float32)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / numpy.where(lengths > 0, lengths, 1)

    def key(self, text: str) -> bytes:
        """Return the key of a text's vector in the cache: 16 bytes, different for each text and each model."""
        from hashlib import blake2b

        return blake2b(text.encode(), digest_size=16, key=self._fingerprint).digest()


def similarities(snapshot: Snapshot, query: str) -> dict[str, float]:
    """Return how near records are to a query in their meaning, by path, from 0 to 1.

    The nearest record has 1. A record that is no nearer than most records (the median) would have 0 and is left out.
    Raises ModelError if the configured model can't be used.
    """
    name = snapshot.texts.semantic_model
    model = load(name)
    import numpy

    with _plain_errors(name):
        paths, vectors = _stored(snapshot, model)
        if not paths:
            return {}
        near = vectors @ model.vectors([query])[0]
    most, usual = float(near.max()), float(numpy.median(near))
    if most <= usual:
        return {}
    scaled = ((near - usual) / (most - usual)).tolist()  # plain floats, because callers don't import numpy
    return {path: share for path, share in zip(paths, scaled, strict=True) if share > 0}


@lru_cache(maxsize=1)
def load(name: str) -> Model:
    """Load an embedding model; `name` is the absolute path of a folder, or the name of an installed package.

    Raises ModelError if the extra `semantic` is not installed, or if there is no working model.
    """
    try:
        from model2vec import StaticModel
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise ModelError(
            f"the Git setting {_SETTING} is set, but the extra `semantic` is not installed",
            "`pip install '.[semantic]'` in a checkout of memctl installs it",
        ) from None
    with _plain_errors(name):
        folder = _folder(name)
        weights, tokenizer = _only(folder, "*.safetensors", name), _only(folder, "*tokenizer*.json", name)
        if (weights.parent / "config.json").is_file() and tokenizer.parent == weights.parent:
            encoder = StaticModel.from_pretrained(weights.parent)
        else:
            [matrix] = load_file(weights).values()
            encoder = StaticModel(matrix, Tokenizer.from_file(str(tokenizer)))
        return Model(encoder, b"".join(_mark(file) for file in (weights, tokenizer)))


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Turn every error of the model's libraries into a ModelError, panics of their Rust code (BaseException) too."""
    try:
        yield
    except ModelError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"{_SETTING}: the static model in {name!r} can't be used: {error}", _HINT) from None


def _folder(name: str) -> Path:
    """Return the folder of a model; raises ModelError if `name` is neither a folder nor an installed package."""
    from importlib.util import find_spec

    folder = Path(os.path.expanduser(name))
    if folder.is_absolute() and folder.is_dir():
        return folder
    spec = find_spec(name) if _PACKAGE.fullmatch(name) else None  # a package without dots is found without running it
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"{_SETTING}: {name!r} is neither a folder nor an installed package; memctl downloads no models", _HINT
        )
    return Path(spec.submodule_search_locations[0])


def _only(folder: Path, pattern: str, name: str) -> Path:
    paths = sorted(path for path in folder.rglob(pattern) if path.name != "tokenizer_config.json")
    if len(paths) != 1:
        raise ModelError(
            f"{_SETTING}: {name!r} has {len(paths)} files that match {pattern}; it must have exactly one", _HINT
        )
    return paths[0]


def _mark(file: Path) -> bytes:
    status = file.stat()
    return f"{status.st_size}:{status.st_mtime_ns};".encode()[-32:]


def _stored(snapshot: Snapshot, model: Model) -> tuple[list[str], numpy.ndarray[Any, Any]]:
    """Return the paths of all records and their vectors, one row each; computes and caches those that are missing."""
    import numpy

    texts = dict(snapshot.texts.all_texts())
    keys = {path: model.key(text) for path, text in texts.items()}
    known = snapshot.texts.recall(list(keys.values()))
    missing = [path for path, key in keys.items() if key not in known]
    for start in range(0, len(missing), _AT_ONCE):
        batch = missing[start : start + _AT_ONCE]
        made = model.vectors([texts[path] for path in batch]).astype(numpy.float16)
        new = {keys[path]: vector.tobytes() for path, vector in zip(batch, made, strict=True)}
        snapshot.texts.keep(new)
        known |= new
    stored = b"".join(known[key] for key in keys.values())
    return list(texts), numpy.frombuffer(stored, numpy.float16).reshape(len(texts), -1).astype(numpy.float32)

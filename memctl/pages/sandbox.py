"""Run a project's own Jinja templates, in a clone that its user trusts, and memctl's where they are not compiled yet.

Jinja's sandbox lets a template read only the values that it is given. Here the processor time and the size of a
document are limited, too; the memory that a single value takes is not.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.pages.template_values import BrokenTemplate
from memctl.record.errors import InvalidRecord
from memctl.record.snapshot import Snapshot
from memctl.store import files

_NAME = re.compile(r"[\w-][\w.-]*\.j2")
_SECONDS = 2.0  # of processor time for all documents together, beyond what each document may use
_EACH_SECONDS = 0.1  # of processor time for each document; a page takes some milliseconds
_MAX_SOURCE = 64 * 1024  # characters of a template; real ones have about 2,000, and compiling takes memory


class Templates:
    """Loads and runs the templates of documents: the project's own if `trusted` is True, otherwise memctl's.

    `compiled` is a folder in which compiled templates are kept for later runs, None to keep none.
    """

    def __init__(self, snapshot: Snapshot, compiled: Path | None, *, trusted: bool) -> None:
        self._snapshot = snapshot
        self._is_trusted = trusted
        self._seconds = _SECONDS
        self._exhausted: dict[str, BrokenTemplate] = {}
        cache = None
        if compiled is not None:
            with suppress(OSError):  # the clone belongs to another user, or can only be read
                private_files.make_folder(compiled)
                cache = _Compiled(str(compiled))
        self._environment = Sandbox(loader=jinja2.FunctionLoader(self._source), bytecode_cache=cache)

    def fill(self, name: str, page: Any) -> str:
        """Return the output of a template for the values in `page`; raises BrokenTemplate if the template fails."""
        path = f"templates/{name}"
        if path in self._exhausted:
            raise self._exhausted[path]
        begin = time.process_time()
        try:
            with deadline(_EACH_SECONDS + self._seconds):
                return self._environment.get_template(name).render(page=page)
        except MemctlError:
            raise
        except Exception as error:  # a template is a foreign program, which may fail in any way
            at, line = _place(error, path)
            memory = "rendering takes too much memory" if isinstance(error, MemoryError) else ""
            why = str(error) or memory or type(error).__name__
            broken = BrokenTemplate(self._snapshot.prefix, at, line, why)
            if isinstance(error, (TooLarge, TimeoutError, MemoryError, RecursionError)):
                self._exhausted[path] = broken  # each further page would take as long
            raise broken from None
        finally:
            self._seconds = max(self._seconds - max(time.process_time() - begin - _EACH_SECONDS, 0.0), 0.0)

    def _source(self, name: str) -> tuple[str, str, None] | None:
        if _NAME.fullmatch(name) is None:
            return None  # a template may include other templates, but no other files
        path = f"templates/{name}"
        try:
            if self._is_trusted:
                text = self._snapshot.read(path)
                if len(text) > _MAX_SOURCE:
                    why = f"the template has more than {_MAX_SOURCE:,} characters"
                    raise BrokenTemplate(self._snapshot.prefix, path, 1, why)
                return text, path, None
        except (FileNotFoundError, NotADirectoryError):
            pass
        except InvalidRecord as error:
            fault = error.faults[0]
            raise BrokenTemplate(self._snapshot.prefix, path, fault.line, fault.message) from None
        own = files.templates() / name
        return (own.read_text(encoding="utf-8"), path, None) if own.is_file() else None


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates on the disk; a damaged one is compiled again, and a read-only place keeps none."""

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # pickle and marshal raise nearly anything
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _place(error: BaseException, path: str) -> tuple[str, int]:
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.filename or path, error.lineno
    place = (path, 1)
    trace = error.__traceback__
    while trace is not None:  # Jinja makes a frame for each line of a template
        if (file := trace.tb_frame.f_code.co_filename).startswith("templates/"):
            place = (file, trace.tb_lineno)
        trace = trace.tb_next
    return place


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the processor time of a `with` block: if it takes more than `seconds`, TimeoutError is raised in it.

    There is no limit on Windows, and in threads other than the main thread, because nothing can interrupt the block
    there.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"rendering takes longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class TooLarge(Exception):
    """A template prints a document that is too large to be read again."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with the spaces of memctl's templates and a limit to the size of a document."""

    def __init__(self, **options: Any) -> None:
        spaces = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
        super().__init__(undefined=jinja2.StrictUndefined, **spaces, **options)
        self.concat = _concat  # type: ignore[method-assign]
        del self.globals["lipsum"]  # makes random text, and rendering twice must give the same
        self._safe: dict[tuple[type, str], bool] = {}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether templates may read an attribute of an object, as Jinja's own sandbox decides.

        The answer is cached for each type and attribute, since documents read many values.
        """
        key = (type(obj), attr)
        if key not in self._safe:
            self._safe[key] = super().is_safe_attribute(obj, attr, value)
        return self._safe[key]


def _concat(pieces: Iterable[str]) -> str:
    """Raises TooLarge as soon as the pieces are too long."""
    texts, length = [], 0
    for piece in pieces:
        texts.append(piece)
        length += len(piece)
        if length > files.MAX_BYTES:
            raise TooLarge(f"the template prints more than {files.MAX_BYTES:,} characters")
    return "".join(texts)


def python_of(template: str) -> str:
    """Return the Python code to which Jinja compiles a template, without the line that imports Jinja."""
    code: str = Sandbox().compile(template, raw=True)
    return code.partition("\n")[2]

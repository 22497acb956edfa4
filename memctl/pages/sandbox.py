"""Run Jinja templates that may come with a cloned repository, so that a hostile template can't do harm.

A template can read only the values that it is given, and its use of memory and time is limited. Jinja's own sandbox
limits only `range`. This one also limits the size (`weigh`) of each value that a template prints, or makes by an
operator, a call, a filter or a literal. A value that would be too large is refused before it is made, since a time
limit can't interrupt a single long operation in C.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import islice
from pathlib import Path
from string import Formatter
from types import FrameType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.bccache import Bucket
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context, LoopContext
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
MAX_VALUE = 2 * 1024 * 1024  # weight of one value and of a document: memctl reads no larger file
_MAX_MADE = 8 * MAX_VALUE  # weight of all values that are made for one document
_MAX_ESTIMATE = 4 * MAX_VALUE  # estimated weight of an operation's result
_MAX_ITEMS = 200_000  # items of an iterator, and pieces of captured output; the sandbox's `range` has 100,000
_MAX_BITS = 10_000  # of a number
_MAX_WIDTH = 10_000  # of a format's field whose width is a value
_EACH = 8  # weight of an item beside its content: a pointer
# Filters and methods whose result may be a multiple of their input, and whether a number is the factor.
_FACTORS = {
    "center": True, "ljust": True, "rjust": True, "zfill": True, "expandtabs": True, "to_bytes": True, "indent": True,
    "slice": True, "tojson": True, "round": True, "replace": False, "join": False, "translate": False,
    "wordwrap": False, "urlize": False, "xmlattr": False,
}  # fmt: skip


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
                # Earlier versions of memctl left compiled templates without the ending `.bounded`.
                cache = _Compiled(str(compiled), "%s.bounded")
        self._environment = Sandbox(loader=jinja2.FunctionLoader(self._source), bytecode_cache=cache)

    def fill(self, name: str, page: Any) -> str:
        """Return the output of a template for the values in `page`; raises BrokenTemplate if the template fails."""
        path = f"templates/{name}"
        if path in self._exhausted:
            raise self._exhausted[path]
        begin = time.process_time()
        try:
            with deadline(_EACH_SECONDS + self._seconds):
                self._environment.begin()
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
        """Return a template's text and its path below `.memory/` for Jinja's loader, None if there is none."""
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
    """Return the template and line of an error; `path` is the template that was being rendered."""
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
    """A template made a value or an output that is larger than allowed."""


class Sandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment that limits the size of the values that a template makes.

    `begin` must be called before each document. The other public methods are called by Jinja or by compiled templates.
    """

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, **options: Any) -> None:
        spaces = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
        super().__init__(finalize=self.keep, undefined=jinja2.StrictUndefined, **spaces, **options)
        self.code_generator_class = _Generator
        self.concat = self._concat  # type: ignore[method-assign]
        self.filters = {name: self._bounded(name, function) for name, function in self.filters.items()}
        del self.globals["lipsum"]  # makes random text of any length
        self._made = 0
        self._safe: dict[tuple[type, str], bool] = {}

    def begin(self) -> None:
        """Start a new document: set the total size of the values that its templates have made to 0."""
        self._made = 0

    def keep(self, value: Any) -> Any:
        """Return a value unchanged, after adding its size to the total of the document.

        Raises TooLarge if the value or the total is too large.
        """
        weight = weigh(value)
        self._made += weight
        if weight > MAX_VALUE:
            raise TooLarge(f"a value in the template has more than {MAX_VALUE:,} characters")
        if self._made > _MAX_MADE:
            raise TooLarge(f"the values that the template makes have more than {_MAX_MADE:,} characters")
        return value

    def join(self, values: Sequence[Any]) -> str:
        """Return the values joined to one text (Jinja's operator `~`); raises TooLarge if it is too large."""
        _refuse(sum(map(weigh, values)))
        return str(self.keep("".join(map(str, values))))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator such as `*`; raises TooLarge instead if it would be too large."""
        _refuse(_binop(operator, left, right))
        return self.keep(super().call_binop(context, operator, left, right))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether templates may read an attribute of an object, as Jinja's own sandbox decides.

        The answer is cached for each type and attribute, since documents read many values.
        """
        key = (type(obj), attr)
        if key not in self._safe:
            self._safe[key] = super().is_safe_attribute(obj, attr, value)
        return self._safe[key]

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return the item or slice `argument` of an object; raises TooLarge if a slice is too large."""
        value = super().getitem(obj, argument)
        return self.keep(value) if isinstance(argument, slice) else value

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        values = [__self.keep(_as_list(value)) for value in (*args, *kwargs.values())]
        args = tuple(values[: len(args)])
        kwargs = dict(zip(kwargs, values[len(args) :], strict=True))
        method = getattr(__obj, "__wrapped__", __obj)  # of `format`, which the sandbox wraps
        subject = getattr(method, "__self__", None)
        if isinstance(subject, (str, bytes, int)):
            _refuse(_estimate(method.__name__, subject, values))
        return __self.keep(super().call(__context, __obj, *args, **kwargs))

    def _bounded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that weighs its arguments and its result, and raises TooLarge."""
        skipped = int(hasattr(function, "jinja_pass_arg"))

        @wraps(function)
        def bounded(*args: Any, **kwargs: Any) -> Any:
            own, values = args[:skipped], [self.keep(_as_list(value)) for value in args[skipped:]]
            _refuse(_estimate(name, values[0] if values else "", [*values[1:], *kwargs.values()]))
            return self.keep(function(*own, *values, **kwargs))

        return bounded

    def captured(self) -> list[str]:
        """Return an empty list for pieces of output that a template collects, as in a macro or a `set` block.

        Appending to the list raises TooLarge if the list has too many pieces.
        """
        return _Captured()

    @staticmethod
    def _concat(pieces: Iterable[str]) -> str:
        """Join the output pieces of a document, or of a block in it; raises TooLarge as soon as they are too long."""
        texts, length = [], 0
        for piece in pieces:
            texts.append(piece)
            length += len(piece)
            if length > MAX_VALUE or len(texts) > _MAX_ITEMS:
                limits = f"{MAX_VALUE:,} characters or {_MAX_ITEMS:,} pieces of text"
                raise TooLarge(f"the template prints more than {limits}")
        return "".join(texts)


def python_of(template: str) -> str:
    """Return the Python code to which Jinja compiles a template, without the line that imports Jinja."""
    code: str = Sandbox().compile(template, raw=True)
    return code.partition("\n")[2]


class _Generator(CodeGenerator):
    """Compiles templates so that `~`, literals and captured output pass through the sandbox, too."""

    def buffer(self, frame: Frame) -> None:
        frame.buffer = self.temporary_identifier()
        self.writeline(f"{frame.buffer} = environment.captured()")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.join((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._write_kept(lambda: super(_Generator, self).visit_List(node, frame))

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._write_kept(lambda: super(_Generator, self).visit_Dict(node, frame))

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._write_kept(lambda: super(_Generator, self).visit_Tuple(node, frame))
        else:
            super().visit_Tuple(node, frame)

    def _write_kept(self, visit: Callable[[], None]) -> None:
        self.write("environment.keep(")
        visit()
        self.write(")")


class _Captured(list):  # type: ignore[type-arg]
    """The output pieces of a macro, a call or a `set` block."""

    def append(self, piece: str) -> None:
        self.extend((piece,))

    def extend(self, pieces: Iterable[str]) -> None:
        super().extend(pieces)
        if len(self) > _MAX_ITEMS:
            raise TooLarge(f"the template prints more than {_MAX_ITEMS:,} pieces of text")


def weigh(value: Any, known: dict[int, int] | None = None) -> int:
    """Return the size of a value: about the number of characters that it has as text.

    A collection counts each item as often as it occurs, because printing it takes that long. Values that are neither a
    text, a number nor a collection count 8. `known` caches the sizes of collections, by `id()`.
    """
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, int):
        return int(value).bit_length() // 3
    if isinstance(value, range):
        return 2 * _EACH * len(value)
    if not isinstance(value, (list, tuple, set, frozenset, Mapping, MappingView)):
        return _EACH
    known = {} if known is None else known
    if id(value) not in known:
        items: Any = (*value.keys(), *value.values()) if isinstance(value, Mapping) else value
        known[id(value)] = sum(_EACH + weigh(item, known) for item in items)
    return known[id(value)]


def _as_list(value: Any) -> Any:
    """Return the items of an iterator as a list, because an iterator can't be weighed; any other value unchanged.

    Raises TooLarge for too many items.
    """
    if not isinstance(value, Iterator) or isinstance(value, LoopContext):
        return value
    items = list(islice(value, _MAX_ITEMS + 1))
    if len(items) > _MAX_ITEMS:
        raise TooLarge(f"the template makes a list of more than {_MAX_ITEMS:,} items")
    return items


def _refuse(estimate: int) -> None:
    """Raise TooLarge if the estimated weight of a result is over the limit."""
    if estimate > _MAX_ESTIMATE:
        raise TooLarge(f"a value in the template would have more than {_MAX_ESTIMATE:,} characters")


def _binop(operator: str, left: Any, right: Any) -> int:
    """Return the largest possible weight of an operator's result."""
    if operator == "%" and isinstance(left, str):
        return _filled(left, right, is_dynamic="*" in left)
    if operator == "+":
        return weigh(left) + weigh(right)
    if operator == "%" or not (isinstance(left, int) or isinstance(right, int)):
        return 0
    if not (isinstance(left, int) and isinstance(right, int)):
        items, times = (right, left) if isinstance(left, int) else (left, right)
        return 0 if isinstance(items, float) or operator == "**" else (_EACH + weigh(items)) * max(times, 0)
    bits = left.bit_length() * max(right, 0) if operator == "**" else left.bit_length() + right.bit_length()
    return 0 if bits <= _MAX_BITS else _MAX_ESTIMATE + 1


def _estimate(name: str, subject: Any, values: Sequence[Any]) -> int:
    """Return the largest possible weight of the result of a filter or method that can enlarge a value."""
    if name in ("format", "format_map") and isinstance(subject, str):
        is_dynamic = any("{" in (spec or "") for _, _, spec, _ in Formatter().parse(subject)) or "*" in subject
        return _filled(subject, values, is_dynamic)
    if name not in _FACTORS:
        return 0
    factors = [weigh(value) for value in values if not isinstance(value, int)]
    factors += [abs(value) for value in values if isinstance(value, int) and _FACTORS[name]]
    return (_EACH + weigh(subject)) * (1 + sum(factors))


def _filled(pattern: str, given: Any, is_dynamic: bool) -> int:
    """Return the largest possible weight of a formatted pattern; `is_dynamic` says that values may be widths."""
    values = given if isinstance(given, (list, tuple)) else [given]
    if is_dynamic and any(isinstance(value, int) and abs(value) > _MAX_WIDTH for value in values):
        return _MAX_ESTIMATE + 1
    widths = sum(int(digits[:9]) for digits in re.findall("[0-9]+", pattern))
    return len(pattern) * (1 + weigh(given)) + widths

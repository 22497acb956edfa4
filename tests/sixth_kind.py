"""A plugin of pytest (`-p tests.sixth_kind`): memctl as it is with one more entry in KINDS, a type `question`."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec

ENTRY = """\
Kind(
    name="question",
    prefix="QUE",
    plural="questions",
    verb="ask",
    help="Record a question.",
    steps=(StatusStep("asked", 0, ("answered",)), StatusStep("answered", 1, ("asked",), is_closed=True)),
    resolved="answered",
    fields=(
        Field("question", "Question", "question", "What is asked."),
        Field("options", "Options", "choice", "A possible answer.", True),
    ),
)"""

spec = find_spec("memctl.record.kinds")
assert spec is not None
assert spec.loader is not None
source = spec.loader.get_source(spec.name)  # type: ignore[attr-defined]
assert source.count("HANDOFF)}") == 1
module = sys.modules[spec.name] = module_from_spec(spec)
exec(compile(source.replace("HANDOFF)}", f"HANDOFF, {ENTRY})}}"), str(spec.origin), "exec"), vars(module))

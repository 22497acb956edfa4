"""What a workflow is called."""

from __future__ import annotations

import re

from memctl.errors import USAGE, MemctlError
from memctl.store.memory import Memory
from memctl.text.credentials import redact

_LONGEST = 40


def workflow(memory: Memory, given: str) -> str:
    """The workflow that an option names, or the one of the branch that HEAD is on, or the project's.

    Two tasks at once are on two branches, mostly. Raises MemctlError if no name can be made of what was given.
    """
    branch = memory.repository.branch()[0].removeprefix("refs/heads/")
    name = slug(redact(given or branch or memory.config.project, strict=False)) or ("" if given else "workflow")
    if not name:
        raise MemctlError(f"{given!r} is no name for a workflow", "use letters, digits, dots and dashes", USAGE)
    return name


def slug(text: str) -> str:
    """A text as a name that serves in a path: small letters, digits, dots, dashes and underscores.

    One that loses letters on the way gets a mark of its own, so that two of them never are the same workflow.
    """
    name = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")
    if len(name) > _LONGEST or any(c.isalnum() and not c.isascii() for c in text):
        from hashlib import blake2b  # 3 ms

        mark = blake2b(text.encode(errors="surrogatepass"), digest_size=3).hexdigest()
        name = f"{name[: _LONGEST - len(mark) - 1].strip('-._')}-{mark}".lstrip("-")
    return name

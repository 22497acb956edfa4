"""Where Claude Code keeps the transcripts of a project and of a session's sub-agents."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path

from memctl.errors import USAGE, MemctlError

_MOST_SUB_AGENTS = 500


def projects(environ: Mapping[str, str], home: Path) -> Path:
    """Return the folder of all projects: below CLAUDE_CONFIG_DIR, or `.claude` at home."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def slug(folder: Path) -> str:
    """Return the name by which a folder's transcripts are kept: all but letters and digits of ASCII become `-`."""
    return re.sub("[^A-Za-z0-9]", "-", str(folder))


def newest(folder: Path, kept: Path) -> Path:
    """Return the newest transcript of a session in a folder, or else of the nearest one above it.

    Only plain files count: what lies there under such a name may lead anywhere. Raises MemctlError if there is none.
    """
    for above in (folder, *folder.parents):
        found = [
            (status.st_mtime_ns, file.name, file)
            for file in (kept / slug(above)).glob("*.jsonl")
            if not file.name.startswith("agent-") and stat.S_ISREG((status := file.lstat()).st_mode) and status.st_size
        ]
        if found:
            return max(found)[2]
    raise MemctlError(f"no transcript of Claude Code is kept for {folder}", f"name a FILE; looked below {kept}", USAGE)


def of_sub_agents(transcript: str) -> list[str]:
    """Return the transcripts of a session's sub-agents, which lie in a folder beside the main one; at most 500."""
    if not transcript.endswith(".jsonl"):
        return []
    folder = Path(transcript.removesuffix(".jsonl")) / "subagents"
    try:
        return sorted(str(file) for file in folder.glob("*.jsonl") if file.is_file())[:_MOST_SUB_AGENTS]
    except OSError:
        return []

"""Tell an agent that a form of a command has failed in earlier sessions, and which form works.

What the pages of sessions have learned is kept in a file beside the sessions' folders, since hooks have no time to read
pages at every tool call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memctl.hooks.event_payload import Payload
from memctl.store.session_dir import SessionDir, key
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.session.working_forms import WorkingForm

_FILE = "forms.json"


def keep(root: Path, forms: Sequence[WorkingForm]) -> None:
    """Keep the pairs that recur; `root` is the folder in which hooks keep their data. Raises OSError."""
    import msgspec

    from memctl.git import private_files

    if forms or (root / _FILE).exists():
        private_files.replace_file(root / _FILE, msgspec.json.encode(forms))


def after(folder: SessionDir, payload: Payload) -> str:
    """Return what is known of the command of a tool call, "" if nothing is, or if the session was told already.

    `folder` is memctl's folder for the session. Raises OSError if a marker can't be written.
    """
    command = payload.arguments.get("command")
    if not isinstance(command, str) or not (folder.root / _FILE).exists():
        return ""
    import msgspec

    from memctl.session import working_forms

    try:
        forms = msgspec.json.decode((folder.root / _FILE).read_bytes(), type=list[working_forms.WorkingForm])
    except msgspec.MsgspecError:  # the next start writes the file anew
        return ""
    text = working_forms.advice(command, forms)
    return text if text and folder.claim_hint(f"form-{key(text)}") else ""

"""Whether Gemini CLI has compressed a session's context, as its transcript tells.

It has an event for that, PreCompress, but sends it before every request to its model, whether or not it compresses then
(0.61.0: `ChatCompressionService.compress` asks for hooks first and looks at the number of tokens after that), and none
once it has. A transcript has a line of all messages where they are replaced; after a compression they begin with the
summary and an answer of the model's that the program itself has made up.
"""

from __future__ import annotations

import json

from memctl.store.session_dir import SessionDir
from memctl.transcript.line import lines_after

_REPLACED = b'{"$set":{"messages":'
_READ = "read"  # a file with how far the transcript is read
_SEEN = "compressed-"


def is_new(folder: SessionDir, transcript: str) -> bool:
    """Return whether there is a compression in a transcript that was not there when this was last asked for the
    session.

    A summary counts once, however often its messages are written: a session that is resumed has them again.
    """
    start = end = folder.offset(_READ)
    found = False
    for offset, line in lines_after(transcript, start):
        end = offset
        summary = _summary(line) if line.startswith(_REPLACED) else ""
        found |= bool(summary) and folder.create_marker(f"{_SEEN}{_digest(summary)}")
    if end != start:
        folder.note_offset(_READ, end)
    return found


def _summary(line: bytes) -> str:
    """Return the summary with which the messages of a line begin, "" if they begin with none."""
    from memctl.transcript import gemini

    try:
        messages = json.loads(line)["$set"]["messages"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    place = gemini.summary_place(messages) if isinstance(messages, list) else 0
    return gemini.text_of(messages[place - 1]) if place else ""


def _digest(text: str) -> str:
    from hashlib import blake2b

    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()

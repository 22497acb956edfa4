"""Detect from its transcript whether Gemini CLI has compressed a session's context, since it sends no event for that.

Gemini CLI sends an event, PreCompress, before every request to the model, whether it compresses or not (in 0.61.0,
`ChatCompressionService.compress` calls the hooks before it counts tokens). After a compression it sends none. But
whenever it replaces the messages of a session, it writes a line with all new messages to the transcript. If the reason
is a compression, these begin with the summary and a made-up answer of the model.
"""

from __future__ import annotations

import json

from memctl.store.session_dir import SessionDir
from memctl.transcript.line import lines_after

_REPLACED = b'{"$set":{"messages":'
_READ = "read"  # the file with the transcript's offset in bytes up to which it was read
_SEEN = "compressed-"


def take_new_compression(folder: SessionDir, transcript: str) -> bool:
    """Return whether a transcript of Gemini CLI shows a compression that was not reported to a caller before.

    `folder` is memctl's folder for the session, in which reported compressions are noted. A compression is known by its
    summary, so it is reported once even if the host writes the messages again, as in a resumed session.
    """
    start = end = folder.offset(_READ)
    is_new = False
    for offset, line in lines_after(transcript, start):
        end = offset
        summary = _summary(line) if line.startswith(_REPLACED) else ""
        is_new |= bool(summary) and folder.create_marker(f"{_SEEN}{_digest(summary)}")
    if end != start:
        folder.note_offset(_READ, end)
    return is_new


def _summary(line: bytes) -> str:
    """Return the summary at the beginning of a line's messages, "" if there is none."""
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

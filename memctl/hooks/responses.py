"""What a host is answered: text for the model, in the form and of the length that the host takes."""

from __future__ import annotations

import json

from memctl.hooks.hosts import Host


def spoken(host: Host, event: str, text: str) -> str:
    """An answer as the host takes it."""
    text = _within(text, host.most_bytes) if host.most_bytes else text
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _within(text: str, most: int) -> str:
    """A text of at most so many bytes: without lines before its last one, which says what else was left out."""
    lines = text.rstrip("\n").split("\n")
    sizes = [len(line.encode(errors="surrogatepass")) + 1 for line in lines]
    room, kept = most - sizes[-1], list[str]()
    if sum(sizes) <= most:
        return text
    for line, size in zip(lines[:-1], sizes, strict=False):
        if size > room:
            break
        kept.append(line)
        room -= size
    return "\n".join([*kept, lines[-1], ""])

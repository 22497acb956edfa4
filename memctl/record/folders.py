"""The folders of `.memory/` that hold no records: the names alone, for those who need nothing of what is in them."""

SESSIONS, CHECKPOINTS = "sessions", "checkpoints"

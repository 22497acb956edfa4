"""The state of a task: its progress, events, checkpoints, and the text from which work is resumed."""

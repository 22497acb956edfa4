"""Shorter forms of results of tools, by the kind of output, down to one line (rules.md#window-compression)."""

"""Shorter forms of tools' results, by the form of the output (rules.md#window-compression)."""

"""Shorter forms of tools' results; how a result is shortened depends on what it is, such as a log or a diff.

The rules are in rules.md#window-compression.
"""

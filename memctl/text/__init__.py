"""Functions for texts of any kind: words, times, Markdown, globs, XML, credentials.

`lazy_regex` and `light_typing` make memctl start faster.
"""

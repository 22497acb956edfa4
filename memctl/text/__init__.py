"""Texts that need not be of a record: words, times, Markdown, globs, XML, credentials.

`lazy_regex` and `light_typing` make the start of memctl quick.
"""

"""Results of tools told in fewer tokens, by the kind of output that they are, down to one line
(rules.md#window-compression).
"""

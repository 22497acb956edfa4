"""Results of tools told in fewer tokens, by the kind of output that they are, down to one line (S4,
"Tool Result Summarization").
"""

"""Results of tools told in fewer tokens, by the kind of output that they are (S4, "Tool Result Summarization")."""

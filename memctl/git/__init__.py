"""Git: its processes, objects, refs, commits and messages, history, hooks, and trust in a clone."""

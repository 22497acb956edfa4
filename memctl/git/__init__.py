"""Git: the one module that starts processes, the commit lanes, commit messages, and history."""

"""The state of a task, which passes from one window to the next: what it contains, and where it is stored."""

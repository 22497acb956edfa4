"""The state of a task from one window to the next: what it holds, and where it is stored."""

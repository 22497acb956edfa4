"""The state of a task from one window to the next: what it holds, where it is kept (a memory, files), and which window
this is."""

"""Taking blocks out of a window: what may go, what goes first, and what takes its place."""

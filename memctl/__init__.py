"""Git-backed, file-based memory for projects on which people work with coding agents."""

__version__ = "0.1.0"

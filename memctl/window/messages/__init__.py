"""A conversation as hosts keep it: its messages are read, split into blocks, edited, and kept valid."""

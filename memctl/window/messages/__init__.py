"""Conversations in the form in which hosts keep them: they are read, split into blocks, edited, and kept valid."""

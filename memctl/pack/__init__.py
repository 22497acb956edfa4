"""Build packs: the part of a memory that a model gets, within a budget of tokens."""

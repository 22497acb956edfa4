"""Build packs: the parts of a memory that a model gets, each within a budget of tokens."""

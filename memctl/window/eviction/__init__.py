"""Eviction: taking blocks out of a window. What may be evicted, in which order, and what replaces it."""

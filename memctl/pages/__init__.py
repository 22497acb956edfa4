"""The four-level hierarchy: pages rendered from the memory, § markers, what a change touches."""

"""Records in other forms: out of the memory, and into it."""

"""What a model is given to read: packs of records within a token budget."""

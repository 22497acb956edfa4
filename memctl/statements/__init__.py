"""Find what a text states, such as decisions: under labels (module `reader`), and in sentences (module `dialogue`)."""

"""Find what a text states, such as decisions: under labels (`reader`), and in ordinary sentences (`dialogue`)."""

"""Find what a text states: under labels (`reader`), and in sentences of free words (`dialogue`)."""

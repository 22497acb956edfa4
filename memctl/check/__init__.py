"""Check that a memory is consistent: the rules, which have stable codes, and the formats of the report."""

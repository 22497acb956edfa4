"""Language models that a user may have: a program of theirs, an endpoint, or none. Nothing of memctl needs one."""

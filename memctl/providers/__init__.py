"""Language models that a user may have set up: a program, an endpoint, or none. Nothing in memctl needs one."""

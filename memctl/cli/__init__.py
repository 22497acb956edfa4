"""The command line: parse, call one function, print. click is imported here and nowhere else."""

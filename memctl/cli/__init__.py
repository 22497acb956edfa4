"""The command line: each command parses its options, calls one function and prints. Only this package imports click."""

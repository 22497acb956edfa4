"""The consistency check: rules with stable codes, functions that find violations, and formats of reports."""

"""The consistency check: rules with stable codes, functions that find breaches, and formats of reports."""

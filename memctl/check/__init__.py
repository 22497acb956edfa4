"""The consistency check: rules with stable codes, what breaks them, and how findings are printed."""

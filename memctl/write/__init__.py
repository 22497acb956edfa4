"""Writing: operations that return a Change, and the one path on which a Change is written and committed."""

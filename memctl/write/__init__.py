"""Writing: operations that return a Change, and the only way by which a Change is written to disk and committed."""

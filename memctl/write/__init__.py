"""What may change into what: operations that return a Change, and the one path on which a Change is written."""

"""What may change into what: operations that return a Change, and the one door through which a Change is written."""

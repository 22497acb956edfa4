"""Count tokens; each count comes with its source and with how wrong it may be (its error band)."""

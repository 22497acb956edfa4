"""Count tokens, with the source of every figure and its error band."""

"""A conversation as hosts keep it: read, taken apart into blocks, edited, put together again, and valid."""

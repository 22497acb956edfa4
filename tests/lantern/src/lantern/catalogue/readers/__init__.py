"""One reader for each supplier; they differ in columns, encoding and manners."""

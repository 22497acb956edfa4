"""Search a Snapshot: rank what matches a query, find related records, and find work that can be started."""

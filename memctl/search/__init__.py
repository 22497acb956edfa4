"""Search a Snapshot: filter its records, rank what matches a query, find related records and work that is ready."""

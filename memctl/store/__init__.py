"""The memory on disk: folder, atomic writes, lock, pending changes, cache and search index, and Snapshots from them."""

"""The memory on disk: its folder, atomic writes, the lock, pending changes, the cache, and Snapshots read from them."""

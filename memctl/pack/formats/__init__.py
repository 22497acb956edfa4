"""Write packs in several formats, each of which keeps an item's text from breaking out of its place."""

"""Write packs in several formats, in which no text of a record can pass for a part of the pack's own structure."""

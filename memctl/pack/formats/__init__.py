"""The forms in which a pack is written: each serialises, so that no text of an item can leave its place."""

"""Pure values: records, ids, front matter, sections, snapshots and changes. Nothing here touches the world."""

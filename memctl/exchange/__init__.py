"""Import and export of records: JSON Lines, ADRs, Markdown, and the issues of other tools."""

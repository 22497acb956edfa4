"""Import and export of records: JSON Lines, files of architecture decisions (ADRs), Markdown, issues of other tools."""

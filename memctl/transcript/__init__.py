"""Read transcripts of hosts and lists of messages: their events, token usage, and context windows."""

"""What happened in a session of work with an agent: read from its transcript, written down for the next one."""

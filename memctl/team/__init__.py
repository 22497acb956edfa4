"""What the agents on one project must agree on at once: who owns which section, who is at work, on what."""

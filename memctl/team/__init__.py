"""The coordination state, which the agents on a project share: who owns which section, and who is at work on what."""

"""Answer the events of hosts (programs that run agents), and install memctl's hooks in their settings."""

"""What we look at ourselves."""

"""What must survive in a conversation: what happened in it, and which of that nobody may lose."""

"""What a compression must not lose: what happened in a conversation, and which of that has to stay."""

"""What a compression of a conversation must not lose, such as decisions, open issues and paths of files in use."""

"""Compression of a conversation into fewer tokens: five strategies, the cascade that runs them, and their results."""

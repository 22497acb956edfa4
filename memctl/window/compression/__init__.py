"""Saying the same in fewer tokens: five strategies, the cascade that runs them, and the results of each."""

"""Saying the same in fewer tokens: five strategies, their cascade, and what each of them came to."""

"""Sentences of what people and models write: where each begins and ends, and what it states."""

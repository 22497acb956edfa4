"""Token budgets: how a window is shared among its components, and what each of them uses."""

"""Products: where they come from and how they are found."""

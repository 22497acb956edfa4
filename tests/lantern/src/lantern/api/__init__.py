"""What the storefront talks to."""

"""From the cart to a placed order."""

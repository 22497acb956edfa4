"""What happens to an order once it is paid."""

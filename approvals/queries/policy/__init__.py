"""What rules say about requests."""

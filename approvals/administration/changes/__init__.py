"""Changes that need a second administrator: their effects, confirmation and withdrawal."""

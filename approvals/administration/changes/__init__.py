"""Changes that wait for a second administrator: what they would do, and how they are confirmed and withdrawn."""

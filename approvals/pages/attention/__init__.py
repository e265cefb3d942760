"""Pages that direct people's attention."""

"""What the processes do for themselves: their heartbeats, and removing old rows."""

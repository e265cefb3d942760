"""What people store for themselves: preferences, views, snoozes, devices and sessions."""

"""What people do with their own lists: save filters under a name, and snooze requests."""

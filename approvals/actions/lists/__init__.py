"""People's actions on their own lists: save filters under a name, and snooze requests."""

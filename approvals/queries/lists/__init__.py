"""People's own lists: saved views and snoozed requests."""

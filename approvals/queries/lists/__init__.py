"""What people have of their own lists: the views that they saved, and the requests that they snoozed."""

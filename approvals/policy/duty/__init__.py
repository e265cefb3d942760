"""Who is on call in a team: calendars, and the stored shifts."""

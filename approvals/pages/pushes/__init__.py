"""What live pages are sent about assignees, absences and results."""

"""The lists of people: rows, filters, views and live updates of the Inbox and of Workflows, and the command palette."""

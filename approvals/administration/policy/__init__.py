"""Administration of the policy: its rules and versions, what a change would have done, and who confirms it."""

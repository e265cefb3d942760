"""Administration of the policy: rules, versions, replays of drafts, and confirmation."""

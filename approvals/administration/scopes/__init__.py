"""Administration of approver scopes."""

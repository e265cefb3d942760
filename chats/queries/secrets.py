"""Names of secret fields in the requests of a chat, to mask them wherever the chat's messages repeat them."""

from __future__ import annotations

from approvals.models import ApprovalRequest
from chats.models import Chat


def secret_names_of(chat: Chat) -> list[str]:
    """Return the names of secret fields in a chat's requests; in a message, the input is not at its root."""
    # All of them: a name that is left out would be shown.
    requests = ApprovalRequest.objects.filter(
        scope=chat.scope, secrets__isnull=False
    ).order_by()
    lists = requests.values_list("secrets", flat=True).distinct()
    steps = (
        secret.strip("/*").rpartition("/")[2]
        for secrets in lists
        for secret in secrets or ()
    )
    return list(
        dict.fromkeys(
            step.replace("~1", "/").replace("~0", "~") for step in steps if step
        )
    )

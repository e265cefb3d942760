"""Refuse what a client sends and no row could hold."""

from __future__ import annotations

import json

from django.utils.translation import gettext as _

from approvals.db.canonical_json import MAX_BYTES, NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.json_types import JsonMapping
from approvals.text.numbers import grouped
from approvals.text.translation import translated
from chats.checkpoints import MAX_MESSAGE_DEPTH


def check_storable(sent: JsonMapping) -> None:
    """Raise Invalid for a message, or a part of one, that cannot be stored."""
    try:
        # A cheap check of the size first: the exact one takes seconds for a message of megabytes.
        if len(json.dumps(sent)) > MAX_BYTES:
            raise NotCanonical(
                _("one is larger than %(limit)s bytes") % {"limit": grouped(MAX_BYTES)}
            )
        canonical(sent, max_depth=MAX_MESSAGE_DEPTH)
    except RecursionError as error:
        raise Invalid(
            _("A message is invalid."), {"messages": _("nested too deeply")}
        ) from error
    except NotCanonical as error:
        raise Invalid(
            _("A message is invalid."), {"messages": translated(error)}
        ) from error

"""The claims of access tokens that mappings compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from approvals.models.keys import MAX_CLAIM

#: Signatures that only the issuer can make; a shared secret or none at all is not accepted.
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
#: The claims, most specific first: of several matching mappings, the first of these applies.
CLAIMS = ("sub", "client_id", "azp", "roles", "scp", "scope")
#: Claims with several values, as a list, or as words of a text.
SCOPE_CLAIMS = ("roles", "scp", "scope")
_MAX_VALUES = 100


def values_of(claims: Mapping[str, Any], name: str) -> list[str]:
    """Return the values of a claim; values of another type, too long or with control characters are left out."""
    values = claims.get(name)
    if name not in SCOPE_CLAIMS:
        values = [values]
    elif isinstance(values, str):
        values = values.split(" ")
    return [
        each
        for each in (values if isinstance(values, list) else [])[:_MAX_VALUES]
        if isinstance(each, str) and 0 < len(each) <= MAX_CLAIM and each.isprintable()
    ]

"""Reads cards, activities and a token with Microsoft's own packages: JSON in, and what they make of it as a line of JSON."""

import asyncio
import dataclasses
import json
import sys
from typing import Any

from microsoft_teams.api import ActivityTypeAdapter
from microsoft_teams.api.auth.cloud_environment import PUBLIC
from microsoft_teams.apps.auth.token_validator import TokenValidator
from microsoft_teams.cards import AdaptiveCard


def read(card: dict[str, Any]) -> Any:
    """Return a card as its model writes it, with what was set in it."""
    model = AdaptiveCard.model_validate(card)
    return model.model_dump(by_alias=True, exclude_unset=True, mode="json")


def clicked(activity: dict[str, Any]) -> Any:
    """Return the verb and the data of a click, and its author, as handlers of an app get them."""
    click = ActivityTypeAdapter.validate_python(activity)
    action = click.value.action
    return [type(click).__name__, action.verb, action.data, click.from_.aad_object_id]


def verified(case: dict[str, Any]) -> Any:
    cloud = dataclasses.replace(PUBLIC, openid_metadata_url=case["metadata"])
    validator = TokenValidator.for_service(case["app_id"], case["service"], cloud)
    return asyncio.run(validator.validate_token(case["token"]))["iss"]


case = json.load(sys.stdin)
answer = {
    "cards": [read(card) for card in case["cards"]],
    "clicks": [clicked(activity) for activity in case["activities"]],
    "issuer": verified(case),
}
print("TOLD " + json.dumps(answer))

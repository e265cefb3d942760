"""Cache marks for Anthropic's prompt cache. Pure.

A mark stores the prompt up to it, and finds prompts stored at most 20 blocks before it. They are kept for five minutes after
their last use, or for an hour at a higher price. One step of an agent may add a hundred blocks. So the ends of earlier requests
are marked again, where the API finds their stored prompts at once, and also the end of this one
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
"""

from __future__ import annotations

from approvals.json_types import JsonDict
from chats.providers.anthropic.history import THOUGHTS

#: The mark for each number of minutes that an agent may choose.
MARKS: dict[int, JsonDict] = {
    5: {"cache_control": {"type": "ephemeral"}},
    60: {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
}
#: Of the four marks that a request may have, one is for tools and instructions, which all chats of an agent share.
MARKS_IN_MESSAGES = 3


def marked_for_cache(arguments: JsonDict, minutes: int) -> JsonDict:
    """Return the arguments of a request with its marks; the given ones stay unchanged."""
    mark = MARKS.get(minutes)
    if mark is None:
        return arguments
    marked = dict(arguments)
    for part in ("system", "tools"):
        if part in marked:
            marked[part] = [*marked[part][:-1], marked[part][-1] | mark]
            break
    marked["messages"] = messages = list(arguments["messages"])
    for place in _ends(messages)[-MARKS_IN_MESSAGES:]:
        message = messages[place]
        messages[place] = message | {
            "content": [*message["content"][:-1], message["content"][-1] | mark]
        }
    return marked


def _ends(messages: list[JsonDict]) -> list[int]:
    """Return the indexes of the messages that ended a request: those before an answer, and the last."""
    after = [message["role"] for message in messages[1:]] + ["assistant"]
    return [
        place
        for place, (message, role) in enumerate(zip(messages, after, strict=True))
        if role == "assistant" and message["content"][-1]["type"] not in THOUGHTS
    ]

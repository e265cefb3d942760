"""Claude, through the Anthropic SDK: the request (`request`), the answer (`stream`), and failures (`errors`).

Nothing outside this package imports the SDK, which is slow to load.
"""

from chats.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider"]

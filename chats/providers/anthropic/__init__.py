"""Claude, through the Anthropic SDK: what it is asked (`request`), its answer (`stream`), and what may fail (`errors`).

Nothing outside this package imports the SDK, which is slow to load.
"""

from chats.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider"]

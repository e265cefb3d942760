"""OpenAI, and any server with its Chat Completions API, through OpenAI's SDK, which is an optional package.

What is asked is in `request`, the answer in `stream`, and what may fail in `errors`. Nothing else imports the SDK.
"""

from chats.providers.openai.provider import OpenAIProvider

__all__ = ["OpenAIProvider"]

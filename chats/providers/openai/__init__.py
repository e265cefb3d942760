"""OpenAI, and any server with one of its APIs, through OpenAI's SDK, which is an optional package. Nothing else imports it.

`chat_completions` and `responses` hold what differs: what is asked, and the streamed answer. How a server is asked is in
`provider`, and what may fail in `errors`; `conversation` and `settings` read what both are asked with, `answer` is the part
that both answers share.
"""

from chats.providers.openai.chat_completions import OpenAIProvider
from chats.providers.openai.responses import ResponsesProvider

__all__ = ["PROVIDERS", "OpenAIProvider", "ResponsesProvider"]

PROVIDERS = {provider.name: provider for provider in (OpenAIProvider, ResponsesProvider)}

"""OpenAI, and any server with one of its APIs, through OpenAI's SDK, which is an optional package. Nothing else imports it.

`chat_completions` and `responses` hold the differences: the request, and the streamed answer. Sending and retries are in
`provider`, failures in `errors`; `conversation` and `settings` read the input of both, and `answer` is the shared part of their
answers.
"""

from chats.providers.openai.chat_completions import OpenAIProvider
from chats.providers.openai.responses import ResponsesProvider

__all__ = ["PROVIDERS", "OpenAIProvider", "ResponsesProvider"]

PROVIDERS = {
    provider.name: provider for provider in (OpenAIProvider, ResponsesProvider)
}

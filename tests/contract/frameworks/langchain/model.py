"""The fake model of the programs in this folder."""

from __future__ import annotations

from typing import Any

import resumers
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel


class Model(GenericFakeChatModel):
    """Answers with the given messages in order; `resumers.hang_in` may keep it from that."""

    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self

    def _generate(self, *given: Any, **more: Any) -> Any:
        resumers.hang_in("model")
        return super()._generate(*given, **more)

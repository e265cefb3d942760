"""Whether a message that this process sends through the channel layer comes back to it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from channels.layers import get_channel_layer


class Echo:
    """Speaks on one channel for as long as it is answered."""

    def __init__(self) -> None:
        self._channel = ""

    async def come_back(self, seconds: float) -> None:
        """Send a message and wait for it. TimeoutError after so many seconds, and whatever the layer raises."""
        layer: Any = get_channel_layer()
        nonce = uuid4().hex
        try:
            async with asyncio.timeout(seconds):
                self._channel = self._channel or await layer.new_channel("pausepoint.echo")
                await layer.send(self._channel, {"type": "echo", "nonce": nonce})
                while (await layer.receive(self._channel))["nonce"] != nonce:
                    continue  # an answer to one that was given up
        except BaseException:
            # A layer may forget a channel on which nobody receives any more.
            self._channel = ""
            raise

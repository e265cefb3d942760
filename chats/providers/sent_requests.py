"""Requests as they are sent. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from chats.agent.provider import ModelRequest


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What is `sent` of a whole request: without the parts that its model refused, and without the first messages (`skip`)."""

    whole: ModelRequest
    sent: ModelRequest
    without: frozenset[str]
    skip: int = 0

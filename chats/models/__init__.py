"""The models of chats. `chats.actions` writes their rows."""

from __future__ import annotations

from chats.models.attachments import Attachment
from chats.models.chats import (
    Chat,
    Message,
    Step,
    ToolCall,
    Turn,
    TurnCheckpoint,
    TurnEvent,
)
from chats.models.prices import ModelPrice

__all__ = [
    "Attachment",
    "Chat",
    "Message",
    "ModelPrice",
    "Step",
    "ToolCall",
    "Turn",
    "TurnCheckpoint",
    "TurnEvent",
]

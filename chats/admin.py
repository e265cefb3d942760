"""The chats in the admin, read-only, and the prices of models, which administrators maintain."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from approvals.admin.base import DeskAdmin, ReadOnlyAdmin, text_filter
from chats.models import Chat, ModelPrice, ToolCall, Turn, TurnCheckpoint


@admin.register(Chat)
class ChatAdmin(ReadOnlyAdmin):
    list_display = ("title", "public_id", "owner", "agent", "created_at", "updated_at")
    list_filter = (text_filter("chat", _("chat"), "public_id"),)
    list_select_related = ("owner",)
    ordering = ("-pk",)


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = (
        "run_id",
        "chat",
        "state",
        "finish_reason",
        "stopped",
        "attempt",
        "created_at",
        "ended_at",
    )
    list_filter = ("state", "stopped")
    list_select_related = ("chat",)
    ordering = ("-pk",)
    readonly_fields = ("run_id",)  # not editable, so not included automatically


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "tool_call_id",
        "chat",
        "state",
        "attempt",
        "started_at",
        "finished_at",
    )
    list_filter = ("state", text_filter("tool", _("tool"), "name"))
    list_select_related = ("chat",)
    ordering = ("-pk",)


@admin.register(TurnCheckpoint)
class TurnCheckpointAdmin(ReadOnlyAdmin):
    list_display = (
        "message_id",
        "ordinal",
        "kind",
        "finish_reason",
        "stopped",
        "created_at",
    )
    list_filter = ("kind", text_filter("message", _("message"), "message_id"))
    ordering = ("-pk",)
    # From it, hidden values could be found by brute force.
    exclude = ("digest_salt",)


@admin.register(ModelPrice)
class ModelPriceAdmin(DeskAdmin):
    list_display = (
        "prefix",
        "service_tier",
        "valid_from",
        "above",
        "currency",
        "input",
        "cache_write",
        "cache_write_hour",
        "cache_read",
        "output",
        "searches",
    )
    list_filter = (text_filter("prefix", _("prefix"), "prefix"),)
    ordering = ("prefix", "-valid_from", "above")

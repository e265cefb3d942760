"""The template tag that reads the first-run checklist for the viewer."""

from __future__ import annotations

from typing import Any

from django import template

from approvals.administration.first_run import Checklist, checklist_for

register = template.Library()


@register.simple_tag(takes_context=True)
def first_run_checklist(context: Any) -> Checklist | None:
    return checklist_for(context["standing"], context["preferences"])

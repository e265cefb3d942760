"""Recommendations based on a tool's figures, in one plain sentence."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.queries.insights.values import Measure

#: Minimum number of decisions for a recommendation.
ENOUGH = 5
HOUR = 3600.0


def advice_for(tool: Measure) -> str:
    """Return a recommendation based on a tool's figures; empty if there is none."""
    verdicts = tool.yes + tool.rejected
    advice = ""
    if tool.ended < ENOUGH:
        return advice
    if tool.expired * 5 >= tool.ended:
        advice = _("Often expires: extend its deadline, or notify more people.")
    elif verdicts >= ENOUGH and tool.rejected * 2 >= verdicts:
        advice = _("Mostly rejected: tell the agent when not to use it.")
    elif verdicts >= ENOUGH and tool.edited * 10 >= verdicts * 3:
        advice = _("Often changed: give the agent better instructions.")
    elif tool.hasty_rate is not None and tool.hasty_rate >= 50:
        advice = _(
            "Often decided faster than it can be read: choose key fields for it."
        )
    elif verdicts >= 2 * ENOUGH and tool.approved == verdicts:
        advice = _("Always approved unchanged: consider a rule instead of asking.")
    elif tool.decided >= ENOUGH and tool.median is not None and tool.median > HOUR:
        advice = _(
            "Waits for more than an hour: notify more people, or assign it to a team."
        )
    return advice

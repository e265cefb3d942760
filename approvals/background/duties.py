"""The duties of the sweep: each with the work that may be due."""

from __future__ import annotations

from approvals import actions
from approvals.access import issuer_keys
from approvals.actions import attention, policy
from approvals.actions.callbacks import deliveries
from approvals.actions.policy import absence, scope_index, undecidable
from approvals.actions.policy.duty import on_call, reminders
from approvals.actions.policy.votes import recount
from approvals.background import sweep
from approvals.outbound import notifications, outbox, webhooks
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.queries.policy.grants.grant_sql import due_grants
from approvals.states import Channel


def register_duties() -> None:
    """Register the duties of requests and of the policy, then those of messages."""
    register = sweep.register
    register(sweep.expire_due_requests, lambda now: [sweep.overdue(now)])
    register(sweep.free_lapsed_requests, lambda now: [sweep.lapsed(now)])
    register(sweep.free_lost_resumes, lambda now: [actions.lost_leases(now)])
    register(
        scope_index.compare_earlier_requests,
        lambda now: [scope_index.uncompared(), scope_index.unfinished_walks()],
    )
    register(undecidable.check_waiting_requests, lambda now: [undecidable.due_checks()])
    register(recount.recount_votes, lambda now: [recount.due_recounts()])
    register(sweep.erase_due_attachments, lambda now: [actions.due_attachments(now)])
    register(
        reminders.carry_out_follow_ups, lambda now: [reminders.due_follow_ups(now)]
    )
    register(on_call.read_due_calendars, lambda now: [on_call.due_calendars(now)])
    register(
        absence.tell_of_changing_absences, lambda now: [absence.changing_absences(now)]
    )
    register(absence.look_at_cards, lambda now: [absence.due_for_cards(now)])
    register(policy.end_due_grants, lambda now: [due_grants(now)])
    register(
        issuer_keys.refresh_due_keys,
        lambda now: [
            issuer_keys.due_issuers(now),
            issuer_keys.due_channel_issuers(now),
        ],
    )
    register(attention.tell_of_floods, lambda now: [attention.new_requests(now)])
    _register_deliveries()


def _register_deliveries() -> None:
    sweep.register(
        outbox.deliver_due, lambda now: [outbox.due_events(now, Channel.HANDLER)]
    )
    sweep.register(
        notifications.spread_due_notices,
        lambda now: [outbox.due_events(now, Channel.NOTICE)],
    )
    lanes = DeliveryLanes(
        webhooks.due_jobs, notifications.due_jobs, deliveries.due_jobs
    )
    by_lane = (Channel.WEBHOOK, Channel.ENGINE, *notifications.CHANNELS)
    sweep.register(lanes.deliver_due, lambda now: [outbox.due_events(now, *by_lane)])

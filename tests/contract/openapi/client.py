"""A program over the generated client: one key asks, the other approves with changes, and the result is reported."""

import json
import os

from desk_client import AuthenticatedClient
from desk_client.api.requests import create_request, decide_request, get_request, report_result
from desk_client.models import NewDecision, NewDecisionVerdict, NewRequest, NewRequestKind, NewResult

asker, approver = (
    AuthenticatedClient(base_url=os.environ["PAUSEPOINT_URL"], token=os.environ[name], raise_on_unexpected_status=True)
    for name in ("PAUSEPOINT_KEY", "APPROVER_KEY")
)
body = NewRequest.from_dict({"kind": "approval", "title": "Refund?", "tool_name": "refund", "input": {"amount": 120}})
assert body.kind is NewRequestKind.APPROVAL
asked = create_request.sync(client=asker, body=body)
edit = {"verdict": NewDecisionVerdict.EDIT, "edited_input": {"amount": 60}}
decide_request.sync(asked.id, client=approver, body=NewDecision.from_dict(edit))
decided = get_request.sync(asked.id, client=asker, wait=30)
output = decided.decision.approved_input.to_dict()
report_result.sync(asked.id, client=asker, body=NewResult(input_digest=decided.decision.approved_digest, output=output))
done = get_request.sync(asked.id, client=asker)
print(json.dumps([decided.status, done.result.state, done.result.output]))

"""The OpenAPI document is correct: schemathesis sends valid and invalid requests and checks the responses against it."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from approvals.api.rest.urls import schema as openapi
from tests.support.machine import Remote
from tests.support.processes.server import Server
from tests.support.services import ROUNDS, real_processes  # noqa: F401 - a fixture

# Loaded here alone: every other run would take half a second longer to start.
pytest_plugins = ["schemathesis.pytest.plugin"]
pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

schema = schemathesis.openapi.from_dict(openapi())
#: The names of paths that are numbers; the others are ids.
NUMBERED = {"absence_id", "number", "scope_id"}
bounded = settings(
    max_examples=20 * ROUNDS,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that may do everything, on a server that has something to show."""
    with Server(tmp_path_factory.mktemp("fuzzed"), DEBUG="1") as server:
        program = Remote(server, "admin")
        program.ask(workflow_id="run-1")
        yield program
        assert "Traceback" not in server.log.read_text()


def send(case, program: Remote, *not_meant) -> None:
    if str(case.query.get("wait", "")) in map(str, range(1, 61)):
        case.query["wait"] = "0"  # waiting itself is tested elsewhere, and takes its time
    if [] in case.query.values():
        # Nothing of an empty list is sent, so a server cannot refuse the name that it has.
        not_meant = (*not_meant, negative_data_rejection)
    case.call_and_validate(
        base_url=program.server.address,
        headers={**case.headers, "Authorization": f"Bearer {program.key}"},
        # Rules between fields are only in the text of the document.
        excluded_checks=[positive_data_acceptance, *not_meant],
        timeout=60,
    )


@schema.parametrize()
@bounded
def test_every_response_matches_the_document(case, program):
    send(case, program)


@schema.include(path_regex="{").parametrize()
@bounded
def test_every_response_about_existing_objects_matches_the_document(case, program):
    asked = program.ask()
    for name in case.path_parameters:
        case.path_parameters[name] = 1 if name in NUMBERED else asked["id"]
    # The bad part of the case may be the one just corrected.
    send(case, program, negative_data_rejection)


def test_a_line_break_in_a_url_is_not_found(program):
    assert program.send("GET", "/requests/%0A").refusal == (404, "not_found")

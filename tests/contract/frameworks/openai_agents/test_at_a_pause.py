"""What OpenAI Agents SDK does at a pause, without Pausepoint."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import observed
from tests.contract.frameworks.pauses import check

pytestmark = pytest.mark.server


def test_the_page_says_what_it_does_at_a_pause(request):
    program = request.path.with_name("at_a_pause.py")
    check("openai_agents", "OpenAI Agents SDK", program, observed(program))

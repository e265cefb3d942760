"""The environment of the crews of these tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def agent(agent, tmp_path):
    # Not below the home of the account that runs the tests, and silent.
    agent.environment |= {
        "CREWAI_STORAGE_DIR": str(tmp_path / "crewai"),
        "CREWAI_DISABLE_TELEMETRY": "true",
        "OTEL_SDK_DISABLED": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "CREWAI_DISABLE_VERSION_CHECK": "true",
    }
    return agent

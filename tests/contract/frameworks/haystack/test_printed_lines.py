"""The output of `pausepoint connect` for this framework."""

from tests.contract.frameworks.printed import test_the_lines_that_connect_prints_run  # noqa: F401

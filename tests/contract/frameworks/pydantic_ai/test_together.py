"""Two processes of one thread at the same time."""

from tests.contract.frameworks.together import test_of_two_processes_of_one_thread_one_runs_what_was_approved  # noqa: F401

"""Pausepoint beside other runtimes that let an agent wait for a person: `python -m benchmarks.peers`."""

"""The site that serves Pausepoint."""

#: The version of Pausepoint, as in `pyproject.toml`.
__version__ = "0.1.0"

"""The Python client against real servers."""

# Imported here, and not by the first thread that needs it: pytest parses it then, and CPython 3.11 fails to parse in a thread
# now and then (python/cpython#106905).
import anyio._backends._asyncio  # noqa: F401

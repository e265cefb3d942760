"""Connect an agent: setup lines with this address and a new key, and the wait for its first request."""

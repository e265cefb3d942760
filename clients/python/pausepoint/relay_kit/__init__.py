"""Play Pausepoint against a relay on this machine, and name the faults of the relay in words: `pausepoint relay-kit`.

The contract is docs/reference/relay.md. The kit checks what a relay takes and posts. It cannot see the chat, so it also says what
should be seen there.
"""

"""How chat clients come in: one thin module per protocol, all of them ending in `chats.actions`."""

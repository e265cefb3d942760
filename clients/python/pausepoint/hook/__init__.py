"""`pausepoint hook`: the command hook of coding agents, and the forms in which they call it."""

"""`pausepoint connect`: connects the coding agents and frameworks of a project."""

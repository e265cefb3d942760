"""The state and the checks of the Messages API, without HTTP: fast tests use it directly, the stand-in server serves it."""

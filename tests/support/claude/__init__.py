"""What the Messages API remembers and checks, without HTTP: fast tests use it directly, the stand-in server serves it."""

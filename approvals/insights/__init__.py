"""The desk as a whole: how much waits, how fast and how people decide. Only read, from the rows of requests and decisions."""

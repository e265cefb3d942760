"""Channels in which people answer: cards of requests, and the clicks that come back. Others know only their names."""

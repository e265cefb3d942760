"""Channels in which people answer: cards of requests there, and the clicks that come back. Nothing else knows them but by name."""

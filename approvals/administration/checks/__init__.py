"""Seeded checks: the switch, the rate, and the cases that they show."""

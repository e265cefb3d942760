"""Absences of people, and the settings of teams."""

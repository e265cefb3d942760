"""Durable engines that wait for decisions: their addresses and credentials, a preview, and a try."""

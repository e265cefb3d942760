"""AgentForge's event stream: requests as human-in-the-loop events. See docs/how-to/agentforge-events.md."""

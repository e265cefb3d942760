"""AgentForge's event stream: what happens to requests, as its human-in-the-loop events. See docs/how-to/agentforge-events.md."""

"""Parts of the adapter for the OpenAI Agents SDK (`pausepoint.openai_agents`)."""

"""Microsoft Teams: Adaptive Cards over the Bot Connector, without a library of Microsoft."""

"""The protocols of chat clients: pure, they know no request and no rows."""

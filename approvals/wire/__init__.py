"""What goes over the wire: pure encoders, which need no request and no rows."""

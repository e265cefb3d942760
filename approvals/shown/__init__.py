"""Frozen values that pages show instead of rows: hidden parts are masked, and no row is reachable from them."""

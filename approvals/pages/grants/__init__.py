"""Pages of grants: giving one with an approval, and the list of grants."""

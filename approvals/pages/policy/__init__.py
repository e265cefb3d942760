"""Pages of grants: giving one with an approval, and what runs without asking."""

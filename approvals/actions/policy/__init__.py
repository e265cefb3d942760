"""The writers of rules and of what follows from them."""

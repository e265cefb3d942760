"""SCIM 2.0: the people and groups of an identity provider."""

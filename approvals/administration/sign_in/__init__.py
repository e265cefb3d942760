"""Sign-in: the roles and teams that the groups of the OpenID provider give."""

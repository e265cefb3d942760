"""Log-in with django-allauth's account app, with our rate limits, audit entries, pages and password hashing; no sign-up."""

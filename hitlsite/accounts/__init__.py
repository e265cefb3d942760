"""How people log in: django-allauth's account app with our limits, records, pages and password hashing. Nobody signs up."""

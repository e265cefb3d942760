"""The settings of the servers of browser tests: with the style guide, and files that a browser keeps, as in production.

With DEBUG alone, a browser asks for each of the forty scripts and styles again whenever it loads a page.
"""

from docs.styleguide.settings import *  # noqa: F403

WHITENOISE_MAX_AGE = 3600

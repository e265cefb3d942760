"""Name the browser and system of a User-Agent header, so that people can recognize their devices."""

from __future__ import annotations

from django.utils.translation import gettext as _

#: The first match counts: Edge also says Chrome, and Chrome also says Safari.
BROWSERS = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}


def describe_browser(text: str) -> str:
    """Return a name such as “Firefox on Linux”."""
    browser = next(
        (name for mark, name in BROWSERS.items() if mark in text), _("Unknown browser")
    )
    system = next((name for mark, name in SYSTEMS.items() if mark in text), "")
    return (
        _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
        if system
        else browser
    )

"""The pages can be installed as an app, and the worker stores nothing of anybody."""

from __future__ import annotations

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db


def test_the_manifest_names_the_start_page_and_icons_that_exist():
    answer = Client().get("/manifest.webmanifest")
    found = answer.json()
    icons = {icon["src"].removeprefix("/static/") for icon in found["icons"]}
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/manifest+json")
    assert (found["start_url"], found["scope"], found["display"]) == ("/", "/", "standalone")
    assert {icon: finders.find(icon) is not None for icon in icons} == {
        "pausepoint/icon-192.png": True,
        "pausepoint/icon-512.png": True,
    }


def test_every_page_links_the_manifest_and_registers_the_worker():
    client = Client()
    client.force_login(alice())
    page = parse(client.get("/").text)
    links = {link.attributes["rel"]: link.attributes["href"] for link in page.find("link")}
    scripts = {script.attributes["src"] for script in page.find("script")}
    assert links["manifest"] == "/manifest.webmanifest"
    assert "/static/pausepoint/install.js" in scripts


def test_the_worker_is_served_where_it_controls_every_page_and_is_always_checked():
    answer = Client().get("/worker.js")
    assert (answer.status_code, answer.headers["Content-Type"], answer.headers["Cache-Control"]) == (
        200,
        "text/javascript; charset=utf-8",
        "no-cache",
    )
    assert answer.text.startswith("// The service worker.")


def test_the_page_without_a_connection_is_the_same_for_everybody_apart_from_the_header():
    client = Client()
    stranger = client.get("/offline/")
    assert (stranger.status_code, re.findall("alice|csrf", stranger.text)) == (200, [])
    assert parse(stranger.text).find("h1")[0].words == "No connection"

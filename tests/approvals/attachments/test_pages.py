"""Files on the page of their request: their display, and when they count as seen."""

from __future__ import annotations

import csv
import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals.models import AuditEntry
from approvals.pages.attachments import MAX_CHARACTERS, MAX_ROWS, table_of, text_of
from tests.support.desk.files import CSV, PDF, PNG, TEXT, attachment, folder, giant_png
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

FILES = {"photo.png": PNG, "bomb.png": giant_png(60_000, 60_000), "a.pdf": PDF, "note.txt": TEXT, "payouts.csv": CSV}


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def ask(files: dict[str, bytes] = FILES, **changes: object) -> dict:
    return Machine(alice()).ask(attachments=[attachment(content, name) for name, content in files.items()], **changes)


def page(client: Client, document: dict) -> str:
    return client.get(f"/requests/{document['id']}/").content.decode()


def previews(html: str) -> list[str]:
    """The addresses from which the folds of PDFs, texts and tables are filled."""
    return re.findall(r'hx-get="(/requests/[^"]+/attachments/[^"]+)"', html)


def decide(client: Client, document: dict, **fields: str):
    body = {"verdict": "approve", "digest": document["input_digest"], **fields}
    return client.post(f"/requests/{document['id']}/decide/", body, headers={"HX-Request": "true"})


def test_a_page_names_every_file_with_its_type_and_shows_small_pictures():
    html = page(browser(bob()), ask())
    figure = parse(html).find("figure", class_="attachments")[0]
    lines = [line.words for line in figure.find("p") if line.find("a")]
    assert lines == [
        "photo.png PNG image, 70 bytes",
        "bomb.png PNG image, 33 bytes",
        "a.pdf PDF, 49 bytes",
        "note.txt Text, 26 bytes",
        "payouts.csv CSV table, 32 bytes",
    ]
    pictures = [
        (one.attributes["alt"], one.attributes["width"], one.attributes["height"]) for one in figure.find("img")
    ]
    assert pictures == [("photo.png", "1", "1")]
    folds = parse(html).find("details", class_="pdf") + parse(html).find("details", class_="fold")
    assert [fold.find("summary")[0].words for fold in folds] == ["Show a.pdf", "Show note.txt", "Show payouts.csv"]
    assert len(previews(html)) == 3


def test_a_large_picture_is_shown_within_bounds_and_with_its_proportions():
    html = page(browser(bob()), ask({"photo.png": giant_png(4000, 1000)}))
    (picture,) = parse(html).find("figure", class_="attachments")[0].find("img")
    assert (picture.attributes["width"], picture.attributes["height"]) == ("640", "160")


def test_a_text_and_a_table_are_shown_without_leaving_the_page():
    client = browser(bob())
    _, text, table = (client.get(path).content.decode() for path in previews(page(client, ask())))
    assert parse(text).find("pre")[0].words == TEXT.decode().strip()
    rows = [[cell.words for cell in row.find("th") + row.find("td")] for row in parse(table).find("tr")]
    assert rows == [["order", "amount"], ["4711", "120"], ["4712", "=1+1"]]


def test_nothing_in_a_text_becomes_a_part_of_the_page():
    client = browser(bob())
    files = {"a.txt": b"hello <script>alert(1)</script>\xe2\x80\xae", "b.csv": b"name\n<img src=x onerror=alert(1)>\n"}
    text, table = (client.get(path).content.decode() for path in previews(page(client, ask(files))))
    assert "hello &lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩" in text
    assert (parse(table).find("img"), parse(text).find("script")) == ([], [])


def test_only_people_who_may_see_the_request_see_the_beginning_of_a_file():
    document = ask()
    approver, stranger = browser(bob()), browser(mallory())
    pdf, path, _ = previews(page(approver, document))
    for address in (path, pdf, f"{pdf}pdf/"):
        assert [client.get(address).status_code for client in (approver, stranger)] == [200, 404]
        assert Client().get(address).status_code == 302


def test_a_pdf_is_framed_on_request_and_counts_as_seen_when_a_person_says_so():
    client = browser(bob())
    address = previews(page(client, ask()))[0]
    shown = parse(client.get(address).content.decode())
    assert [frame.attributes["src"].partition("#")[0] for frame in shown.find("iframe")] == [f"{address}pdf/"]
    assert [button.attributes["data-opens"] for button in shown.find("button")] == ["file.2"]
    assert [mark.attributes["data-view"] for mark in shown.find("i")] == ["file.2"]


def test_the_frame_of_a_pdf_holds_nothing_but_a_pdf_and_only_pages_of_the_desk_hold_it():
    client = browser(bob())
    addresses = previews(page(client, ask()))
    response = client.get(f"{addresses[0]}pdf/")
    assert (response.status_code, response.content, dict(response.headers)) == (
        200,
        PDF,
        dict(response.headers)
        | {
            "Content-Type": "application/pdf",
            "Content-Disposition": 'inline; filename="a.pdf"',
            "Content-Security-Policy": "default-src 'none'; object-src 'self'; frame-ancestors 'self'",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "SAMEORIGIN",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "private, no-store",
        },
    )
    assert [client.get(f"{address}pdf/").status_code for address in addresses[1:]] == [404, 404]
    assert client.post(f"{addresses[0]}pdf/").status_code == 405


def test_pictures_have_no_preview_of_their_text():
    document = ask()
    client = browser(bob())
    path = previews(page(client, document))[0]
    for file in document["attachments"][:2]:
        other = re.sub(r"attachments/[^/]+", f"attachments/{file['url'].rpartition('/')[2]}", path)
        assert client.get(other).status_code == 404


def test_a_preview_that_is_no_longer_stored_says_so(folder):
    client, document = browser(bob()), ask({"note.txt": TEXT})
    (path,) = previews(page(client, document))
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    response = client.get(path, headers={"HX-Request": "true"})
    assert (response.status_code, "no longer stored" in response.content.decode()) == (410, True)
    assert "note.txt" in page(client, document)


def test_long_texts_and_tables_are_cut_and_say_that_they_are():
    assert text_of("x" * (MAX_CHARACTERS + 1)).whole is False
    assert text_of("line\n" * 1_000).text.count("\n") == 499
    table = table_of("a,b\n" + "1,2\n" * (MAX_ROWS + 5))
    assert table is not None
    assert (table.whole, len(table.rows)) == (False, MAX_ROWS - 1)
    wide = table_of(",".join("abc" * 20) + "\n")
    assert wide is not None
    assert (wide.whole, len(wide.head)) == (False, 30)


def test_a_table_may_be_separated_by_semicolons_and_a_broken_one_is_shown_as_text():
    table = table_of("name;amount\nA, B;1\n")
    assert table is not None
    assert (list(table.head), [list(row) for row in table.rows], table.whole) == (
        ["name", "amount"],
        [["A, B", "1"]],
        True,
    )
    assert table_of('a,"b\nc') is None
    assert table_of("x" * 200_000) is None


def test_files_that_were_not_seen_are_warned_about_and_on_record():
    client, document = browser(bob()), ask()
    seen = decide(client, document, viewed="input.0 input.1 file.0")
    [refusal] = parse(seen.content.decode()).find("div", class_="refusal")
    assert (seen.status_code, refusal.words) == (
        422,
        "You haven't seen 4 files yet. A file that this page does not show in full counts as seen once you open it. "
        "Press O to go to it, then Enter to open it.",
    )
    assert decide(client, document, viewed="input.0 file.0", unread="accepted").status_code == 200
    assert AuditEntry.objects.get(event="request.decided").data["unseen"] == {
        "parts": 4,
        "values": 0,
        "characters": 0,
        "files": 4,
    }


def test_a_request_whose_files_were_seen_is_approved_at_once():
    viewed = " ".join(["input.0", *(f"file.{number}" for number in range(len(FILES)))])
    assert decide(browser(bob()), ask(), viewed=viewed).status_code == 200
    assert "unseen" not in AuditEntry.objects.get(event="request.decided").data


def test_files_count_as_unseen_in_bulk():
    client, document = browser(bob()), ask()
    pick = f"{document['id']}:{document['input_digest']}"
    client.post("/requests/bulk/", {"pick": pick, "verdict": "approve", "confirmed": "yes"})
    assert AuditEntry.objects.get(event="request.decided").data["unseen"]["files"] == len(FILES)


def test_a_bulk_page_names_the_files_of_each_request_and_those_that_were_opened_count_as_seen():
    client, document, other = browser(bob()), ask(), Machine(User.objects.get(username="alice")).ask(tool_call_id="2")
    order = {"pick": [f"{each['id']}:{each['input_digest']}" for each in (document, other)], "verdict": "approve"}
    (files,) = parse(client.post("/requests/bulk/", order).content.decode()).find("ul", class_="bulk-files")
    assert [item.words for item in files.find("li")][:3] == [
        f"photo.png PNG image, {len(PNG)} bytes · not opened",
        "bomb.png PNG image, 33 bytes · not opened",
        f"a.pdf PDF, {len(PDF)} bytes · not opened",
    ]
    opened = [link.attributes["data-opens"] for link in files.find("a")]
    assert opened == [f"file.{number}" for number in range(len(FILES))]
    viewed = [" ".join([f"line-{document['id']}", *opened[:4]]), f"line-{other['id']} file.4", ""]
    client.post("/requests/bulk/", order | {"confirmed": "yes", "viewed": viewed, "unread": "accepted"})
    unseen = AuditEntry.objects.get(event="request.decided", request_id=document["id"]).data["unseen"]
    assert unseen["files"] == 1


def test_the_decision_record_lists_name_type_size_and_digest():
    document = ask({"note.txt": TEXT})
    html = parse(browser(bob()).get(f"/requests/{document['id']}/record/").content.decode())
    (table,) = html.find("table", class_="record-files")
    file = document["attachments"][0]
    assert [cell.words for cell in table.find("td")] == ["note.txt", "text/plain", "26", file["sha256"]]


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_table_has_the_rows_that_a_program_reads(mark, end):
    text = end.join(["payee,amount", f"ann{mark}eve,9000", f'"kim{mark}lee",700', "bob,1", ""])
    table = table_of(text)
    assert table is not None
    shown = f"ann\u27e8U+{ord(mark):04X}\u27e9eve"
    assert (list(table.head), [list(row) for row in table.rows]) == (
        ["payee", "amount"],
        [[shown, "9000"], [shown.replace("ann", "kim").replace("eve", "lee"), "700"], ["bob", "1"]],
    )
    read = list(csv.reader(StringIO(text, newline="")))
    assert (len(read), [row[1] for row in read]) == (4, ["amount", "9000", "700", "1"])


def test_a_quoted_cell_keeps_its_line_break():
    table = table_of('payee,note\r\nann,"two\r\nlines"\r\n')
    assert table is not None
    assert [list(row) for row in table.rows] == [["ann", "two\r\nlines"]]

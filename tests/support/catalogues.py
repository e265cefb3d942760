"""Message catalogues: extract every text, check the texts, and translate them into a pseudo-language.

`python -m tests.support.catalogues` is the part of `make check` that proves that all texts can be extracted, and that the
translations in `locale/` are whole.
"""

from __future__ import annotations

import ast
import gettext
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.support.root import ROOT

SOURCES = ("approvals", "chats", "hitlsite", "templates")
DOMAINS = ("django", "djangojs")
#: A language code that is not in use. Its texts are accented and in brackets.
PSEUDO = "xx"
OPEN, CLOSE = "⟦", "⟧"
TOOLS = ("xgettext", "msguniq", "msgcat", "msgcmp", "msgen", "msgfmt")
#: The parts that a translator would keep: placeholders, tags, entities, code.
KEPT = re.compile(r"(%\(\w+\)[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]|%[sd%]|<[^>]*>|&#?\w+;|\{[\w, ]*\}|`[^`]*`)")
ACCENTED = str.maketrans("aceinouyACEINOUY", "áçéíñóúýÁÇÉÍÑÓÚÝ")
LINE = re.compile(r'(msgid_plural|msgid|msgstr|msgctxt)?(\[\d\])? ?(".*")$')


class NotExtracted(Exception):
    """The texts could not be extracted cleanly, or a translation is not whole; the words say why."""


def missing_tools() -> list[str]:
    """Return the programs of GNU gettext that are not installed."""
    return [name for name in TOOLS if shutil.which(name) is None]


def extract(folder: Path) -> list[Path]:
    """Extract every text of the product into `folder`, one `.pot` file per domain. NotExtracted."""
    with tempfile.TemporaryDirectory() as copied:
        # Of a copy: makemessages writes a file beside each template while it works.
        for name in SOURCES:
            shutil.copytree(ROOT / name, Path(copied) / name, ignore=shutil.ignore_patterns("__pycache__", "htmx*"))
        shutil.copy(ROOT / "manage.py", copied)
        settings = {"DEBUG": "1", "LOCALE_PATHS": str(folder), "LANGUAGE_CODE": "en"}
        for domain in DOMAINS:
            command = ["manage.py", "makemessages", "--locale", "en", "--domain", domain, "--keep-pot"]
            said = _run([sys.executable, *command], cwd=copied, env=os.environ | settings)
            if said != "processing locale en\n":
                raise NotExtracted(said)
    found = [folder / f"{domain}.pot" for domain in DOMAINS]
    for path in found:
        check(path)
    return found


def check(template: Path) -> None:
    """Raise NotExtracted for placeholders that differ between a singular and its plural, or that cannot be read."""
    english = template.with_suffix(".checked")
    # msgfmt looks at translations only, and needs a plural rule: here each text is its own translation.
    _run(["msgen", "--output-file", str(english), str(template)])
    english.write_text(_with_header(english.read_text()))
    _run(["msgfmt", "--check-format", "--output-file", os.devnull, str(english)])
    english.unlink()


def check_translations(templates: Path) -> None:
    """Compare each translation in `locale/` with the texts extracted into `templates`.

    NotExtracted for a text that is not translated, is only guessed (fuzzy) or no longer exists, for placeholders that
    differ, and for a `.mo` file that was not made from its `.po` file.
    """
    for source in sorted((ROOT / "locale").glob("*/LC_MESSAGES/*.po")):
        _run(["msgcmp", str(source), str(templates / f"{source.stem}.pot")])
        compiled = templates / "compiled.mo"
        _run(["msgfmt", "--check-format", "--output-file", str(compiled), str(source)])
        if _messages(compiled) != _messages(source.with_suffix(".mo")):
            raise NotExtracted(f"{source.with_suffix('.mo')} is not made from its .po file. Run make messages.")


def _messages(compiled: Path) -> dict[object, str]:
    with compiled.open("rb") as file:
        translations: dict[object, str] = vars(gettext.GNUTranslations(file))["_catalog"]
    # Its header has the time of the last extraction.
    return {text: translated for text, translated in translations.items() if text}


def _with_header(catalogue: str) -> str:
    """Fill in the open fields of a new catalogue's header."""
    return catalogue.replace("CHARSET", "UTF-8").replace(
        "nplurals=INTEGER; plural=EXPRESSION", "nplurals=2; plural=(n != 1)"
    )


def _run(command: list[str], *, cwd: str | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr.strip():
        raise NotExtracted(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def pseudo(text: str) -> str:
    """Translate a text: accented and between brackets, with its placeholders, tags and line breaks kept."""
    body = text.strip("\n")
    before, _, after = text.partition(body)
    parts = [part if number % 2 else part.translate(ACCENTED) for number, part in enumerate(KEPT.split(body))]
    return f"{before}{OPEN}{''.join(parts)}{CLOSE}{after}" if body.strip() else text


def pseudo_catalogue(folder: Path) -> None:
    """Fill `folder` (for LOCALE_PATHS) with the pseudo-language: for our texts and Django's own."""
    place = folder / PSEUDO / "LC_MESSAGES"
    place.mkdir(parents=True)
    for template in extract(folder):
        source = folder / f"{template.stem}.all"
        english = [str(path) for path in english_of_others(f"{template.stem}.po")]
        _run(["msgcat", "--use-first", "--output-file", str(source), str(template), *english])
        filled = folder / f"{template.stem}.filled"
        _run(["msgen", "--no-wrap", "--output-file", str(filled), str(source)])
        translated = place / f"{template.stem}.po"
        translated.write_text("".join(_translated(_with_header(filled.read_text()).splitlines())))
        _run(["msgfmt", "--check-format", "--output-file", str(translated.with_suffix(".mo")), str(translated)])


def english_of_others(name: str) -> Iterator[Path]:
    """The English catalogues of the packages whose texts our pages show."""
    for package in ("django", "allauth"):
        spec = find_spec(package)
        (root,) = spec.submodule_search_locations if spec and spec.submodule_search_locations else [""]
        yield from sorted(Path(root).rglob(f"locale/en/LC_MESSAGES/{name}"))


def _translated(lines: Iterable[str]) -> Iterator[str]:
    """A catalogue whose translations are pseudo-translated. Its header is kept, with a plural rule."""
    keyword, text = "", ""

    def ended() -> str:
        said = text if not text or text.startswith("Project-Id-Version") else pseudo(text)
        escaped = said.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        return f'{keyword} "{escaped}"\n' if keyword else ""

    for line in [*lines, ""]:
        found = LINE.match(line)
        if found and found[1] and found[1].startswith("msgstr"):
            yield ended()
            keyword, text = f"{found[1]}{found[2] or ''}", ast.literal_eval(found[3])
        elif found and not found[1] and keyword:
            text += ast.literal_eval(found[3])
        else:
            yield ended()
            keyword, text = "", ""
            yield f"{line}\n"


def main() -> int:
    """Extract all texts into a temporary folder and print the errors."""
    if missing := missing_tools():
        print(f"!!! NOT CHECKED, because there is no {', '.join(missing)}: texts. Install gettext.", file=sys.stderr)
        return int(os.environ.get("REQUIRE_SERVICES") == "1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            extract(Path(folder))
            check_translations(Path(folder))
        except NotExtracted as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Settings files: read whole or not at all, never through a link out of the project, and replaced atomically."""

from __future__ import annotations

import difflib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pausepoint.terminal import visible

#: Maximum bytes of a settings file.
MAX_BYTES = 2_000_000


class CannotChange(Exception):
    """The settings stay unchanged; the message says why."""


class ChangedMeanwhile(Exception):
    """The file has changed since the difference was shown."""


@dataclass(frozen=True, slots=True)
class Change:
    """A settings file and its new text; `text` is empty to remove the file."""

    file: Path
    before: str
    text: str

    @property
    def diff(self) -> str:
        """The difference, with characters that a terminal would interpret made visible."""
        lines = difflib.unified_diff(
            _lines(self.before),
            _lines(self.text),
            str(self.file),
            str(self.file),
            lineterm="",
        )
        return "\n".join(visible(line, keep="\t") for line in lines)

    def make(self) -> None:
        """Write the file, or remove it. Raise ChangedMeanwhile if it has changed since it was read."""
        if read(self.file) != self.before:
            raise ChangedMeanwhile
        if self.text:
            _write(self.file, self.text)
        else:
            self.file.unlink()


def _lines(text: str) -> list[str]:
    # Not `splitlines`, which breaks lines at characters that the agents do not treat as breaks.
    return text.removesuffix("\n").split("\n") if text else []


def inside(project: Path, file: Path) -> Path:
    """Resolve a file of the project. Raise CannotChange if links lead out of the project, even to a missing file."""
    place = followed(file)
    if not place.is_relative_to(followed(project)):
        raise CannotChange(f"a link leads out of the project, to {place}")
    return place


def followed(file: Path) -> Path:
    """Return the path of a file after following all links."""
    try:
        place = file.resolve()
    except (OSError, RuntimeError) as error:
        raise CannotChange(f"its links lead in a circle: {error}") from error
    # Since Python 3.13, `resolve` returns a circular link unchanged.
    if any(part.is_symlink() for part in (place, *place.parents)):
        raise CannotChange(f"its links lead in a circle: {place}")
    return place


def read(file: Path) -> str:
    """Return the text of a file; empty if there is none. Raise CannotChange if it is not a settings file."""
    if not file.exists():
        return ""
    if not file.is_file():
        raise CannotChange("it is not a regular file")
    with file.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CannotChange("it is too large")
    return content.decode().replace("\r\n", "\n")


def _write(file: Path, text: str) -> None:
    """Replace a file atomically, so that no agent reads half of it; keep its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".pausepoint-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as new:
            new.write(text)
        os.chmod(name, mode)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

"""Small files that people write: their text, and the value of a YAML or JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simkit.language.yaml.complaints import BrokenText
from simkit.meta.errors import SimkitError


def text_of_file(path: str | Path) -> str:
    """The text of a file. Raises SimkitError for one that cannot be read, or that is no text in UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SimkitError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SimkitError(f"cannot read {path}: it is no text in UTF-8") from None


def value_of_file(path: str | Path) -> Any:
    """The value of a YAML or JSON file. Raises SimkitError for one that cannot be read, or that is neither."""
    from simkit.language.yaml.decode import decode  # a server may never read YAML

    text = text_of_file(path)
    try:
        return decode(text)
    except BrokenText as error:
        raise SimkitError(f"{path} is not YAML: {error}") from None


def value_of_bytes(content: bytes) -> Any:
    """The value of a YAML or JSON document. Raises BrokenText for content that is neither, or no text in UTF-8."""
    from simkit.language.yaml.decode import decode  # as above

    try:
        return decode(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BrokenText(1, "no text in UTF-8") from None

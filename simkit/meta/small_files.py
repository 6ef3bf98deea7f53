"""Small files that people write: their text, and the value of a YAML or JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

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
    text = text_of_file(path)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SimkitError(f"{path} is not YAML: {error}") from None
    except RecursionError:
        raise SimkitError(f"{path} is nested too deeply") from None

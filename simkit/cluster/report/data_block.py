"""Data of a page in a form that its script reads: each text once, and records as rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.meta.visible_text import one_line
from simkit.present.escaping import terminal_text

BLOCKS: Final = frozenset({"diff", "commands", "way_back", "command"})
"""Fields whose texts have several lines."""


def data_block(name: str, content: Any) -> Any:
    """The element that holds some content for the script of the page, packed.

    Texts are shown as on the rest of the page: what cannot be seen is written out. No text ends the element.
    """
    texts: dict[str, int] = {}
    return _element(name, {"rows": _packed(content, texts), "texts": list(texts)})


def plain_block(name: str, content: Any) -> Any:
    """The element that holds some content for a script that reads plain JSON, with texts as in ``data_block``."""
    return _element(name, _visible(content))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {one_line(name): _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value


def _element(name: str, content: Any) -> Any:
    from markupsafe import Markup

    inside = orjson.dumps(content).decode().replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{name}">{inside}</script>')  # noqa: S704


def _packed(value: Any, texts: dict[str, int], *, block: bool = False) -> Any:
    """A value with -1, -2, ... for the first, second, ... text, and ``{"=": fields, "of": rows}`` for equal records.

    Examples
    --------
    >>> texts = {}
    >>> _packed([{"a": 1, "b": "x"}, {"a": 2, "b": "x"}], texts), list(texts)
    ({'=': ['a', 'b'], 'of': [[1, -1], [2, -1]]}, ['x'])
    """
    if isinstance(value, str):
        shown = terminal_text(value) if block else one_line(value)
        return -1 - texts.setdefault(shown, len(texts))
    if isinstance(value, Mapping):
        return {one_line(name): _packed(one, texts, block=name in BLOCKS) for name, one in value.items()}
    if not isinstance(value, list | tuple):
        return value
    fields = list(value[0]) if value and isinstance(value[0], Mapping) else []
    if len(value) > 1 and fields and all(isinstance(one, Mapping) and list(one) == fields for one in value):
        rows = [[_packed(one[name], texts, block=name in BLOCKS) for name in fields] for one in value]
        return {"=": fields, "of": rows}
    return [_packed(one, texts, block=block) for one in value]

"""JSON written as a text before it was: what stood on one line stays on one line."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]')
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
Path = tuple[str | int, ...]


def laid_out_like(text: str, wanted: Any) -> str:
    """A value as JSON, in the layout of a text that says something similar.

    Examples
    --------
    >>> print(laid_out_like('{\\n  "a": {"b": 1},\\n  "c": [\\n    1\\n  ]\\n}', {"a": {"b": 2}, "c": [1, {"d": 3}]}))
    {
      "a": {"b": 2},
      "c": [
        1,
        {
          "d": 3
        }
      ]
    }
    """
    indent = _INDENT.search(text)
    if indent is None:
        return json.dumps(wanted, ensure_ascii=False, separators=None if '": ' in text else (",", ":"))
    return _written(wanted, (), _on_one_line(text), indent[1], "")


def _on_one_line(text: str) -> dict[Path, bool]:
    """The objects and lists of a JSON text by path: True for those that begin and end on the same line.

    A path that ends in ``...`` stands for others in the same place.
    """
    found: dict[Path, bool] = {}
    path: list[str | int] = []
    starts: list[int] = []
    key = ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            starts.append(token.start())
            path.append(0 if sign == "[" else "")
        elif sign in "}]":
            path.pop()
            found[tuple(path)] = is_short = "\n" not in text[starts.pop() : token.start()]
            if path and is_short:
                found[*path[:-1], "..."] = True
        elif sign == "," and path and isinstance(path[-1], int):
            path[-1] += 1
        elif sign == ":" and path:
            path[-1] = json.loads(key)
        elif sign[0] == '"':
            key = sign
    return found


def _written(value: Any, path: Path, on_one_line: dict[Path, bool], indent: str, margin: str) -> str:
    is_short = on_one_line.get(path, on_one_line.get((*path[:-1], "..."), False))
    if not value or not isinstance(value, dict | list) or is_short:
        return json.dumps(value, ensure_ascii=False)
    inner = margin + indent
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(name, ensure_ascii=False)}: {_written(each, (*path, name), on_one_line, indent, inner)}"
            for name, each in value.items()
        ]
    else:
        parts = [_written(each, (*path, index), on_one_line, indent, inner) for index, each in enumerate(value)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{last}"

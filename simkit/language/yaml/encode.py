"""The writer of YAML: keys sorted, and every text quoted that some reader would not read as text."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

try:
    from yaml import CSafeDumper as Dumper
except ImportError:  # PyYAML was built without libyaml: the same, slower
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]


class _Writer(Dumper):
    """Quotes every text that some reader would not read as text, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_LETTER: Final = re.compile(r"[yYnN]\Z")
_NUMBER_LIKE: Final = re.compile(r"[-+]?(?:[0-9][0-9_.]*[eE][-+]?[0-9]*|0o[0-7_]+|[0-9_]+|[0-9.]+)\Z")
_Writer.add_implicit_resolver("tag:yaml.org,2002:bool", _LETTER, list("yYnN"))
_Writer.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER_LIKE, list("-+.0123456789"))


def encode(value: Any) -> str:
    """One YAML document, keys sorted, that every reader of YAML reads alike.

    Examples
    --------
    >>> print(encode({"b": "1e3", "a": [True, "yes"]}), end="")
    a:
    - true
    - 'yes'
    b: '1e3'
    """
    return yaml.dump(value, Dumper=_Writer, sort_keys=True, allow_unicode=True, default_flow_style=False, width=10**6)

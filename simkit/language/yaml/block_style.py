"""The writer of YAML in answers: block style and sorted keys, as sigs.k8s.io/yaml writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from simkit.meta.deadline import check_deadline


class _Dumper(yaml.CSafeDumper):
    """Writes block style, as kube-apiserver does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_LETTERS = frozenset("yYnN")


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """A string node: in double quotes if it would be read as something else, as a literal block if it has several
    lines."""
    check_deadline()
    if "\n" in text:
        return dumper.represent_scalar(_STR, text, style="|")
    resolve: Callable[..., str] = dumper.resolve
    other = text in _LETTERS or resolve(yaml.ScalarNode, text, (True, False)) != _STR
    return dumper.represent_scalar(_STR, text, style='"' if other else None)


_STR = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, _text)


def encode(obj: Any) -> bytes:
    """An object as YAML with sorted keys; long texts of one line are folded after 80 letters, as by yaml.v2."""
    text: str = yaml.dump(obj, Dumper=_Dumper, default_flow_style=False, sort_keys=True, allow_unicode=True, width=80)
    return text.encode()

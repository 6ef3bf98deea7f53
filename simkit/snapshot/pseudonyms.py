"""Pseudonyms for the names in objects: the same name gets the same pseudonym everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

from simkit.meta.domain import API_DOMAIN, DEFAULT_NAMESPACE, LABEL_DOMAIN, PUBLIC_NAMESPACE, SYSTEM_NAMESPACE, label
from simkit.meta.objects import Object, annotations_of, labels_of, metadata, with_metadata
from simkit.meta.podspec import CONTAINER_LISTS

_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_STRUCTURAL: Final = frozenset({"CustomResourceDefinition", "APIService"})
"""Kinds whose names consist of names of resources and groups, which are kept."""
_PROTECTED: Final = frozenset(
    {
        *("apiVersion", "kind", "apiGroup", "apiGroups", "apiVersions", "verbs", "resources", "nonResourceURLs"),
        *("type", "phase", "protocol", "operator", "effect", "operations", "scope", "uid", "resourceVersion"),
        *("creationTimestamp", "restartPolicy", "reason", "status", "mode", "policyTypes", "accessModes", "key"),
    }
)
"""Fields with words of the API, never with names from users."""
_OPAQUE: Final = frozenset({"image", "host", "hosts", "externalName", "server", "url", "email"})
_FREE_TEXT: Final = frozenset({"message", "note", "description", "args", "command", "expression", "messageExpression"})
_OPEN_KEYS: Final = frozenset({"labels", "matchLabels", "selector", "nodeSelector", "data", "stringData", "binaryData"})
"""Mappings whose keys users choose."""
_AUTOUPDATE: Final = label("autoupdate", "rbac.authorization")
_BOOTSTRAPPING: Final = label("bootstrapping")
_COMPOSED: Final = ("system:serviceaccount", "system:node:")
"""Prefixes of server-made names that contain names from users."""
_USER_FACING: Final = frozenset({"cluster-admin", "admin", "edit", "view"})
_NAMED_ITEMS: Final = (*CONTAINER_LISTS, "volumes", "subjects")


class Pseudonyms:
    """Learns the names in objects, then replaces them. The same key gives the same pseudonyms.

    Parameters
    ----------
    key
        At most 64 bytes, to be kept back: whoever has it can test whether a name stands behind a pseudonym.

    Examples
    --------
    >>> pseudonyms = Pseudonyms(b"key")
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "shop"}}
    >>> pseudonyms.learn([account])
    >>> meta = pseudonyms.replaced(account)["metadata"]
    >>> pseudonyms.text("system:serviceaccount:shop:robot").split(":")[2:] == [meta["namespace"], meta["name"]]
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}
        self._kept: set[str] = set()

    def learn(self, objects: Iterable[Object]) -> None:
        """Learn all names in the objects; do so for all of them before the first is replaced."""
        listed = list(objects)
        self._kept.update(name for obj in listed if _BOOTSTRAPPING in labels_of(obj) for name in _shipped(obj))
        for obj in listed:
            if obj.get("kind") not in _STRUCTURAL:
                for name in _names(obj):
                    if not _own(name) and name not in self._kept and name not in self._known:
                        self._known[name] = self._made(name)

    def _made(self, name: str) -> str:
        return f"n{blake2b(name.encode(), key=self._key, digest_size=6).hexdigest()}"

    def replaced(self, obj: Object) -> Object:
        """The object with every learnt name replaced, and without free text and most annotations."""
        kept = {name: text for name, text in annotations_of(obj).items() if name == _AUTOUPDATE}
        bare = with_metadata(obj, annotations=kept or None, generateName=None)
        if obj.get("kind") in _STRUCTURAL:
            return self._defined(bare)
        return {name: self._value(value, name) for name, value in bare.items()}

    def _defined(self, obj: Object) -> Object:
        """A definition with only its labels and webhook services replaced."""
        spec = obj.get("spec")
        services = ("conversion", "service")
        if isinstance(spec, Mapping):
            obj = {**obj, "spec": {name: self._value(v, name) if name in services else v for name, v in spec.items()}}
        return with_metadata(obj, labels=self._value(labels_of(obj), "labels") or None)

    def _value(self, value: Any, field: str) -> Any:
        if isinstance(value, Mapping):
            rename = self._key_text if field in _OPEN_KEYS else str
            return {
                rename(name): self._value(item, "" if field in _OPEN_KEYS else name) for name, item in value.items()
            }
        if field in _PROTECTED:
            return value
        if isinstance(value, list):
            return [] if field in _FREE_TEXT else [self._value(item, field) for item in value]
        return self._leaf(value, field) if isinstance(value, str) else value

    def _key_text(self, name: str) -> str:
        """A key that users may choose, with its learnt names replaced; keys of Kubernetes' own domains are kept."""
        domain = name.partition("/")[0] if "/" in name else ""
        own = any(domain == each or domain.endswith(f".{each}") for each in (LABEL_DOMAIN, API_DOMAIN))
        return name if own else self.text(name)

    def _leaf(self, value: str, field: str) -> str:
        if field in _FREE_TEXT:
            return ""
        return self._made(value) if value and field in _OPAQUE else self.text(value)

    def text(self, text: str) -> str:
        """A text with its learnt names replaced: the whole, or its words, or their parts."""
        if text in self._kept or (text.startswith("system:") and not text.startswith(_COMPOSED)):
            return self._known.get(text, text)
        whole = self._known.get(text)
        return whole if whole is not None else _WORD.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        word = match.group()
        return self._known.get(word) or _PART.sub(lambda part: self._known.get(part.group(), part.group()), word)


def _own(name: str) -> bool:
    """True if the server or the API gave the name, so that it reveals nothing."""
    return (
        name.startswith(("system:", "kube-"))
        or name in _USER_FACING
        or name in (DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, PUBLIC_NAMESPACE)
        or name in ("true", "false", "rbac-defaults", "privileged", "baseline", "restricted", "linux", "amd64", "arm64")
        or not any(letter.isalpha() for letter in name)
    )


def _shipped(obj: Object) -> Iterator[str]:
    """The names in a default role or binding; subjects that users added are not among them."""
    yield str(metadata(obj).get("name") or "")
    rules, subjects = obj.get("rules") or (), obj.get("subjects") or ()
    yield from (str(name) for rule in rules for name in rule.get("resourceNames") or ())
    yield from (str(each.get("name")) for each in subjects if each.get("namespace") == SYSTEM_NAMESPACE)


def _names(obj: Object) -> Iterator[str]:
    """Every name in an object: its own, its labels' values, and those in references."""
    meta = metadata(obj)
    for field in ("name", "namespace"):
        if isinstance(meta.get(field), str):
            yield meta[field]
    yield from (value for value in labels_of(obj).values() if isinstance(value, str))
    role = obj.get("roleRef")
    if isinstance(role, Mapping):
        yield str(role.get("name") or "")
    yield from _within(obj)


def _within(value: Any, field: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name == "resourceNames" and isinstance(item, list):
                yield from map(str, item)
            elif name == "labels" and isinstance(item, Mapping):
                yield from (text for text in item.values() if isinstance(text, str))
            elif name.endswith("Name") and isinstance(item, str):
                yield item
            elif name not in _PROTECTED:
                yield from _within(item, name)
    elif isinstance(value, list):
        for item in value:
            if field in _NAMED_ITEMS and isinstance(item, Mapping):
                yield from (item[part] for part in ("name", "namespace") if isinstance(item.get(part), str))
            yield from _within(item, field)

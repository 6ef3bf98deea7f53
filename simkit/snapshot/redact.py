"""Objects that can be shared: without secret values, and on request with consistent pseudonyms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.objects import Object, annotations_of, labels_of, with_metadata
from simkit.snapshot.credentials import (
    GONE,
    called_like_secret,
    holds_secret,
    without_assignments,
    without_flags,
    without_random_words,
    without_shapes,
)
from simkit.snapshot.pseudonyms import Pseudonyms
from simkit.snapshot.withhold import is_secret, withheld

_COPIES: Final = re.compile(r"last-(?:applied|handled)|/applied$")
"""Annotations in which clients keep a copy of the whole object."""
_REQUEST_FIELDS: Final = {"request", "certificate"}
_NAMES: Final = frozenset(
    [
        *("name", "namespace", "kind", "apiVersion", "apiGroup", "apiGroups", "resources", "resourceNames", "verbs"),
        *("nonResourceURLs", "uid", "resourceVersion", "caBundle", "username", "user", "groups"),
    ]
)
"""Fields that name something, by which analyses find what belongs together: no word in them is a credential."""
_EXPRESSIONS: Final = re.compile(r"(?i)expression$|^(?:rule|pattern|jsonPath|query)$")
"""Fields whose signs compare, and assign nothing."""
_VALUES: Final = frozenset(
    ["value", "val", "values", "plain", "plaintext", "plainText", "inline", "string", "raw", "data", "basic", "bearer"]
)
"""Fields that hold what the field around them is called: ``password: {value: x}``."""
_VARIABLES: Final = re.compile(r"(?i)(?:env|envs|environment|envvars|headers)$")
"""Lists of names with values, or maps, of which every value is taken out."""
_ANSWERS: Final = frozenset({"true", "false", "enabled", "disabled", "none", "null", "yes", "no"})
"""Values of switches."""


def redacted(
    objects: Iterable[Object], *, pseudonyms: Pseudonyms | None = None, keep_config: bool = False
) -> Iterator[Object]:
    """The objects without secret values, with names replaced if pseudonyms are given.

    Gone are: the values of secrets and, unless they are kept, of config maps; values of environment variables and
    headers that are written out; values of flags, and of assignments in scripts, that are called like credentials;
    fields of any object that hold a password, key or token; logins in addresses, tokens and private keys wherever they
    stand; certificate requests and certificates; annotations with what was applied last; the record of who wrote which
    field.

    Parameters
    ----------
    pseudonyms
        Replaces names in all objects alike. What stays are kinds, rules, the server's own names and the shape.
    keep_config
        Whether to keep the values of config maps.

    Examples
    --------
    >>> variables = [{"name": "LOGIN", "value": "hunter2"}]
    >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [
    ...     {"name": "app", "args": ["--token=abc", "--port=80"], "env": variables}]}}
    >>> next(redacted([pod]))["spec"]["containers"]
    [{'name': 'app', 'args': ['--token=REDACTED', '--port=80'], 'env': [{'name': 'LOGIN', 'value': 'REDACTED'}]}]
    """
    listed = list(objects)
    if pseudonyms is not None:
        pseudonyms.learn(listed)
    for obj in listed:
        bare = _bare(obj, keep_config=keep_config)
        yield bare if pseudonyms is None else pseudonyms.replaced(bare)


def _bare(obj: Object, *, keep_config: bool) -> Object:
    notes = {name: _note(name, text) for name, text in annotations_of(obj).items() if not _COPIES.search(name)}
    labels = {name: GONE if _hides(name, str(text)) else text for name, text in labels_of(obj).items()}
    bare: Object = with_metadata(obj, managedFields=None, annotations=notes or None, labels=labels or None)
    if is_secret(bare):
        return withheld(bare)
    kind = bare.get("kind")
    if kind == "ConfigMap" and not keep_config:
        return {name: _blanked(value) if name in ("data", "binaryData") else value for name, value in bare.items()}
    if kind == "CertificateSigningRequest":
        bare = {name: _without_requests(value) if name in ("spec", "status") else value for name, value in bare.items()}
    return {name: value if name == "metadata" else _cleaned(value, name) for name, value in bare.items()}


def _blanked(values: Any) -> Any:
    return dict.fromkeys(values, "") if isinstance(values, Mapping) else values


def _without_requests(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {name: "" if name in _REQUEST_FIELDS else value for name, value in part.items()}


def _note(name: str, text: Any) -> Any:
    """An annotation without credentials."""
    if not isinstance(text, str):
        return text
    return GONE if _hides(name, text) else without_random_words(without_assignments(text))


def _hides(field: str, text: str) -> bool:
    """True if a text is a credential because its field says so."""
    return bool(text) and holds_secret(field) and text.lower() not in _ANSWERS


def _cleaned(value: Any, field: str = "", programs: str = "") -> Any:
    """The value without literal environment variables, and without credentials in fields, flags and texts."""
    if isinstance(value, str):
        return _text(value, field)
    if isinstance(value, Mapping):
        return _cleaned_mapping(value, field)
    if not isinstance(value, list):
        return value
    if _VARIABLES.search(field):
        return [_unset(item) for item in value]
    if field in ("args", "command"):
        return [
            without_random_words(each) if isinstance(each, str) else each for each in without_flags(value, programs)
        ]
    return [_cleaned(item, field) for item in value]


def _text(value: str, field: str) -> str:
    if _hides(field, value):
        return GONE
    if field in _NAMES:
        return without_shapes(value)
    plain = without_shapes(value) if _EXPRESSIONS.search(field) else without_assignments(value)
    return without_random_words(plain)


def _cleaned_mapping(value: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The mapping, in which a value may be called by the field around it, or by a name beside it."""
    if _VARIABLES.search(field):
        return {name: GONE if isinstance(item, str) and item else _cleaned(item, name) for name, item in value.items()}
    called = _programs(value)
    beside = value.get("name", value.get("key"))
    hidden = holds_secret(field) or (isinstance(beside, str) and called_like_secret(beside))
    return {
        name: _cleaned(item, "password" if hidden and name in _VALUES else str(name), called)
        for name, item in value.items()
    }


def _programs(value: Mapping[str, Any]) -> str:
    """The text that identifies a container's program: its image, its command, its arguments."""
    words = [value.get("image"), *_words(value.get("command")), *_words(value.get("args"))]
    return " ".join(word for word in words if isinstance(word, str))


def _words(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _unset(variable: Any) -> Any:
    """A variable without its value; references to values are kept."""
    if isinstance(variable, str):
        name, sign, value = variable.partition("=")
        return f"{name}={GONE}" if sign and value else _text(variable, "")
    if not isinstance(variable, Mapping):
        return variable
    return {name: GONE if name in _VALUES and item else item for name, item in _cleaned_mapping(variable, "").items()}

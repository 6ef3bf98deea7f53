"""Objects that can be shown to others: without secret values, with consistent pseudonyms where wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.objects import Object, annotations_of, with_metadata
from simkit.snapshot.pseudonyms import Pseudonyms
from simkit.snapshot.withhold import is_secret, withheld

GONE: Final = "REDACTED"
"""What stands where a value was that only its owner should know."""
_SECRET_WORD: Final = r"(?:pass(?:word|wd|phrase)?|secret|token|credential|api-?_?key|private-?_?key|auth)"
_SECRET_FLAG: Final = re.compile(rf"(?i)^(-{{0,2}}[\w.-]*{_SECRET_WORD}[\w.-]*)(=)(.+)$", re.DOTALL)
_BARE_FLAG: Final = re.compile(rf"(?i)^-{{1,2}}[\w.-]*{_SECRET_WORD}[\w.-]*$")
_IN_SCRIPT: Final = re.compile(rf"(?i)([\w.-]*{_SECRET_WORD}[\w.-]*)(=['\"]?)([^\s;&|'\"]+)")
_SECRET_FIELD: Final = re.compile(
    r"(?i)^(?:\w*(?:password|passwd|passphrase)|\w*(?:api|access|private|secret|encryption)_?key|\w*token"
    r"|client_?secret|credentials?|authorization)$"
)
"""Fields of objects that hold a secret itself, not the name or the place of one."""
_SHAPES: Final = (
    (re.compile(r"(\w://)[^/\s:@]*:[^/\s@]+@"), rf"\1{GONE}@"),
    (re.compile(r"(?i)\b((?:bearer|basic) )[A-Za-z0-9._~+/=-]{8,}"), rf"\1{GONE}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), GONE),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), GONE),
)
"""Texts that are secrets wherever they stand: logins in addresses, what follows Bearer, tokens, private keys."""
_COPIES: Final = re.compile(r"last-(?:applied|handled)|/applied$")
"""Annotations in which clients keep a copy of the whole object."""
_REQUEST_FIELDS: Final = {"request", "certificate"}


def redacted(
    objects: Iterable[Object], *, pseudonyms: Pseudonyms | None = None, keep_config: bool = False
) -> Iterator[Object]:
    """The objects without what only their owner should know, names replaced where pseudonyms are given.

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
    notes = {name: _shaped(text) for name, text in annotations_of(obj).items() if not _COPIES.search(name)}
    bare: Object = with_metadata(obj, managedFields=None, annotations=notes or None)
    if is_secret(bare):
        return withheld(bare)
    kind = bare.get("kind")
    if kind == "ConfigMap" and not keep_config:
        return {name: _blanked(value) if name in ("data", "binaryData") else value for name, value in bare.items()}
    if kind == "CertificateSigningRequest":
        return {name: _without_requests(value) if name in ("spec", "status") else value for name, value in bare.items()}
    return {name: value if name == "metadata" else _cleaned(value) for name, value in bare.items()}


def _blanked(values: Any) -> Any:
    return dict.fromkeys(values, "") if isinstance(values, Mapping) else values


def _without_requests(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {name: "" if name in _REQUEST_FIELDS else value for name, value in part.items()}


def _cleaned(value: Any, field: str = "") -> Any:
    """The value without written-out variables and credentials in flags and addresses."""
    if isinstance(value, str):
        return GONE if value and _SECRET_FIELD.match(field) else _shaped(value)
    if isinstance(value, Mapping):
        return {name: _cleaned(item, str(name)) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if field in ("env", "httpHeaders"):
        return [_unset(item) for item in value]
    if field in ("args", "command"):
        return _flags(value)
    return [_cleaned(item) for item in value]


def _shaped(text: Any) -> Any:
    """The text without what is a secret by its shape."""
    if isinstance(text, str):
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
    return text


def _unset(variable: Any) -> Any:
    """A variable without its value; where it is taken from elsewhere, that stays."""
    if isinstance(variable, Mapping) and variable.get("value"):
        return {**variable, "value": GONE}
    return variable


def _flags(words: Sequence[Any]) -> list[Any]:
    """Arguments without the values of flags that are called like credentials, behind ``=`` or in the next word."""
    kept: list[Any] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else None
        if not isinstance(word, str):
            kept.append(word)
        elif isinstance(before, str) and _BARE_FLAG.match(before) and not word.startswith("-"):
            kept.append(GONE)
        else:
            whole = _SECRET_FLAG.sub(rf"\1\2{GONE}", word)
            kept.append(_shaped(whole if whole != word else _IN_SCRIPT.sub(rf"\1\2{GONE}", word)))
    return kept

"""Defaulting and validation of the resource rules of webhooks and admission policies.

Follows ``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import REQUIRED, Check, by, distinct, must, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Draft

FAILURE_POLICIES: Final = ("Fail", "Ignore")


def default_rules(holder: Draft, *names: str) -> None:
    """Set the scope of rules to ``*`` by default. The caller owns the holder."""
    for name in names:
        for rule in own_items(holder, name):
            rule.setdefault("scope", "*")


def default_match(holder: Draft, name: str) -> None:
    """Set the defaults of match resources, if there are any. The caller owns the holder."""
    if holder.get(name) is None:
        return
    match = own_copy(holder, name)
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    default_rules(match, "resourceRules", "excludeResourceRules")


def _alone(words: str, kind: str = "string") -> Check:
    """The check of a list in which a wildcard stands without other values."""
    detail = f"if '*' is present, must not specify other {words}"
    return must.hold(lambda values: len(values) == 1 or "*" not in values, detail, partial(texts, kind=kind))


def _validate_resource(behaviour: ServedBehaviour, path: str, resources: Sequence[str]) -> Iterator[FieldError]:
    whole: set[str] = set()
    parts: set[str] = set()
    plain = False
    for index, text in enumerate(resources):
        resource, slash, part = text.partition("/")
        if not text:
            yield required(f"{path}[{index}]")
        elif not slash:
            plain = text != "*"
        else:
            if resource in whole:
                why = f"if '{resource}/*' is present, must not specify {text}"
                yield invalid_value(f"{path}[{index}]", text, why)
            if part in parts:
                yield invalid_value(f"{path}[{index}]", text, f"if '*/{part}' is present, must not specify {text}")
            whole |= {resource} if part == "*" else set()
            parts |= {part} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(path, texts(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(path, texts(resources), text)


RULE: Final = table(
    row("operations", REQUIRED, _alone("operations", "admissionregistration.OperationType")),
    row("operations[]", must.be_one_of("*", "CONNECT", "CREATE", "DELETE", "UPDATE")),
    row("apiGroups", REQUIRED, _alone("API groups")),
    row("apiVersions", REQUIRED, _alone("API versions")),
    row("apiVersions[]", REQUIRED),
    row("resources", REQUIRED, by(_validate_resource)),
    row("scope", must.be_one_of("*", "Cluster", "Namespaced"), empty=True),
)
"""The check of a rule: operations, groups, versions, resources, scope."""
_NAMED_RULE: Final = table(row("resourceNames[]", must.be(path_segment), distinct()), RULE)
MATCH: Final = table(
    row("matchPolicy", must.be_one_of("Equivalent", "Exact"), empty=True),
    row("namespaceSelector", LABEL_SELECTOR),
    row("objectSelector", LABEL_SELECTOR),
    row("resourceRules[]", _NAMED_RULE),
    row("excludeResourceRules[]", _NAMED_RULE),
)
"""The check of match resources."""

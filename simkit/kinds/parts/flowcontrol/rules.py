"""Validation of the rules of flow schemas: subjects, resource rules, non-resource rules.

Follows ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.validation.fields import validate_text
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object

_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


def validate_policy_rule(path: str, rule: Object) -> Iterator[FieldError]:
    """The errors of one rule."""
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        yield from _validate_subject(f"{path}.subjects[{index}]", subject)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, one in enumerate(rule.get("resourceRules") or ()):
        yield from _validate_resource(f"{path}.resourceRules[{index}]", one)
    for index, one in enumerate(rule.get("nonResourceRules") or ()):
        yield from _validate_path_rule(f"{path}.nonResourceRules[{index}]", one)


def _validate_subject(path: str, subject: Object) -> Iterator[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        yield unsupported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    own = _SUBJECTS[kind]
    if subject.get(own) is None:
        yield required(f"{path}.{own}", f"{own} is required when subject kind is '{kind}'")
    else:
        yield from _validate_named(f"{path}.{own}", subject[own], account=own == "serviceAccount")
    for other, field in _SUBJECTS.items():
        if field != own and subject.get(field) is not None:
            yield forbidden_field(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{other}'")


def _validate_named(path: str, subject: Object, *, account: bool) -> Iterator[FieldError]:
    name = subject.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif account and name != "*":
        yield from validate_text(f"{path}.name", name, dns_subdomain)
    if account and subject.get("namespace"):
        yield from validate_text(f"{path}.namespace", subject["namespace"], dns_label)
    elif account:
        yield required(f"{path}.namespace", "must specify namespace for service account")


def _validate_verb(path: str, verbs: Sequence[str]) -> Iterator[FieldError]:
    if not verbs:
        yield required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _alone(path, verbs, "verbs")
    elif not set(verbs) <= set(_VERBS):
        yield unsupported(path, texts(verbs), _VERBS)


def _alone(path: str, values: Sequence[str], words: str) -> Iterator[FieldError]:
    """The error of a wildcard together with other values."""
    if "*" in values and len(values) > 1:
        yield invalid_value(path, texts(values), f"if '*' is present, must not specify other {words}")


def _validate_resource(path: str, rule: Object) -> Iterator[FieldError]:
    yield from _validate_verb(f"{path}.verbs", rule.get("verbs") or ())
    for name, one, words in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        if not rule.get(name):
            yield required(f"{path}.{name}", f"resource rules must supply at least one {one}")
        else:
            yield from _alone(f"{path}.{name}", rule[name], words)
    namespaces = rule.get("namespaces") or ()
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(f"{path}.namespaces", text)
    elif "*" in namespaces:
        yield from _alone(f"{path}.namespaces", namespaces, "namespaces")
    else:
        for index, name in enumerate(namespaces):
            for text in dns_label(name):
                why = f"each member of this list must be '*' or a DNS-1123 label; {text}"
                yield invalid_value(f"{path}.namespaces[{index}]", name, why)


def _validate_path_rule(path: str, rule: Object) -> Iterator[FieldError]:
    yield from _validate_verb(f"{path}.verbs", rule.get("verbs") or ())
    urls = rule.get("nonResourceURLs") or ()
    if not urls:
        yield required(f"{path}.nonResourceURLs", "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        yield from _alone(f"{path}.nonResourceURLs", urls, "non-resource URLs")
    else:
        for index, url in enumerate(urls):
            yield from _validate_url(f"{path}.nonResourceURLs[{index}]", url)


def _validate_url(path: str, url: str) -> Iterator[FieldError]:
    """The first error of a path."""
    if not url:
        yield invalid_value(path, url, "must not be empty")
    elif not url.startswith("/"):
        yield invalid_value(path, url, "must start with slash")
    elif " " in url:
        yield invalid_value(path, url, "must not contain white-space")
    elif "//" in url:
        yield invalid_value(path, url, "must not contain double slash")
    elif url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        yield invalid_value(path, url, "wildcard can only do suffix matching")

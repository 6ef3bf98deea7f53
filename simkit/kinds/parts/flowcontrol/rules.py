"""Validation of the rules of flow schemas: subjects, resource rules, non-resource rules.

Follows ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.rules import REQUIRED, Check, Row, by, distinct, fields, first, items, must, row, table, validation
from simkit.meta import datasets
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, name_of
from simkit.meta.wording import Worded, joined

_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


def _alone(words: str) -> Check:
    """The check of a list in which a wildcard stands without other values."""
    detail = f"if '*' is present, must not specify other {words}"
    return must.hold(lambda values: "*" not in values or len(values) == 1, detail, texts)


def _validate_verbs(behaviour: ServedBehaviour, path: str, verbs: Sequence[str]) -> Iterator[FieldError]:
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield unsupported(path, texts(verbs), _VERBS)


def _validate_namespace(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    for wrong in dns_label(name):
        why = joined("; ", ("each member of this list must be '*' or a DNS-1123 label", wrong))
        yield invalid_value(path, name, why)


def _unless_any(check: Check) -> Check:
    """The check of each item of a list that is not a wildcard."""
    each = items(check)
    return lambda behaviour, values: () if "*" in values else each(behaviour, values)


def _subject(kind: str, *rows: Row) -> Check:
    """The check of the field that a subject of some kind must have."""
    field = _SUBJECTS[kind]
    needs = must.be_given(f"{field} is required when subject kind is '{kind}'", pointer=True)
    return row(field, needs, *rows, when=fields.equal("kind", kind))


def _not_of(kind: str) -> Row:
    detail = f"{_SUBJECTS[kind]} is forbidden when subject kind is not '{kind}'"
    return row(_SUBJECTS[kind], must.be_absent(detail, pointer=True), unless=fields.equal("kind", kind))


_URL: Final = first(
    must.hold(lambda url: url, "must not be empty"),
    must.hold(lambda url: url.startswith("/"), "must start with slash"),
    must.hold(lambda url: " " not in url, "must not contain white-space"),
    must.hold(lambda url: "//" not in url, "must not contain double slash"),
    must.hold(lambda url: "*" not in url.removesuffix("/*"), "wildcard can only do suffix matching"),
)
_VERBS_ROW: Final = row(
    "verbs", must.be_given("verbs must contain at least one value"), _alone("verbs"), by(_validate_verbs)
)
POLICY_RULE: Final = table(
    row("subjects", must.be_given("subjects must contain at least one value")),
    row(
        "subjects[]",
        first(
            row("kind", must.be_one_of(*sorted(_SUBJECTS)), zero=""),
            table(
                _subject(
                    "ServiceAccount",
                    row("name", REQUIRED, must.be(lambda name: () if name == "*" else dns_subdomain(name))),
                    row("namespace", must.be_given("must specify namespace for service account"), must.be(dns_label)),
                ),
                _subject("User", row("name", REQUIRED)),
                _subject("Group", row("name", REQUIRED)),
                *map(_not_of, _SUBJECTS),
            ),
        ),
    ),
    row(
        "",
        must.be_set("at least one of resourceRules and nonResourceRules has to be non-empty"),
        unless=fields.either("resourceRules", "nonResourceRules"),
    ),
    row(
        "resourceRules[]",
        _VERBS_ROW,
        row("apiGroups", must.be_given("resource rules must supply at least one api group"), _alone("api groups")),
        row("resources", must.be_given("resource rules must supply at least one resource"), _alone("resources")),
        row(
            "namespaces",
            must.be_given("resource rules that are not cluster scoped must supply at least one namespace"),
            unless=fields.given("clusterScope"),
        ),
        row("namespaces", _alone("namespaces"), _unless_any(by(_validate_namespace))),
    ),
    row(
        "nonResourceRules[]",
        _VERBS_ROW,
        row(
            "nonResourceURLs",
            must.be_given("nonResourceURLs must contain at least one value"),
            _alone("non-resource URLs"),
            _unless_any(_URL),
        ),
    ),
)
"""The check of a rule of a flow schema."""
FLOW_STATUS: Final = validation(
    row(
        "status.conditions[]",
        distinct("type"),
        row("type", must.be_given(Worded("required-values-told-alone", "", "must not be empty"))),
    )
)
"""The validation of the conditions in an object's status."""


_MARKED_SINCE: Final = 21
"""The first release that marks its own objects for updates."""
_LENT_SINCE: Final = 26
"""The first release whose levels lend each other seats."""


@cache
def flow_objects(minor: int) -> Sequence[Object]:
    """The objects of a release by its number, in the newest version of their group.

    Examples
    --------
    >>> [name_of(each) for each in flow_objects(21) if each["kind"] == "FlowSchema"][:3]
    ['catch-all', 'exempt', 'global-default']
    """
    changes: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["kind"], row["name"]): row for row in datasets.load("bootstrap/flow-changes.json")
    }
    found = []
    for obj in datasets.load("bootstrap/flow-1.30.json"):
        change = changes.get((obj["kind"], name_of(obj)), {})
        within = _number(change.get("since"), 0) <= minor <= _number(change.get("last"), minor)
        if "spec" in change or within:
            made = {**obj, "spec": change["spec"] if "spec" in change and within else _spec_of(obj, minor)}
            found.append(made if minor >= _MARKED_SINCE else {**made, "metadata": {"name": name_of(obj)}})
    return tuple(found)


def _spec_of(obj: Object, minor: int) -> Object:
    spec: Object = obj["spec"]
    if minor >= _LENT_SINCE or "limited" not in spec:
        return spec
    return {**spec, "limited": {name: value for name, value in spec["limited"].items() if name != "lendablePercent"}}


def _number(release: str | None, otherwise: int) -> int:
    return otherwise if release is None else int(release.partition(".")[2])


_FIXED = ("exempt", "catch-all")


def mandatory_spec(behaviour: ServedBehaviour, kind: str, name: str) -> Object | None:
    """The spec that an object of this kind and name must have; None if it may have any."""
    return _specs(kind, behaviour.minor).get(name)


@cache
def _specs(kind: str, minor: int) -> Mapping[str, Object]:
    return {name_of(obj): obj["spec"] for obj in flow_objects(minor) if obj["kind"] == kind and name_of(obj) in _FIXED}


def same(one: Any, other: Any) -> bool:
    """True if two values are equal; empty values equal absent ones.

    Examples
    --------
    >>> same({"a": [{"b": 1}], "c": None}, {"a": [{"b": 1, "d": []}]})
    True
    """
    return bool(_bare(one) == _bare(other))


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: bare for key, each in value.items() if (bare := _bare(each)) not in (None, [], {})}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value

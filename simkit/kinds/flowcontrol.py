"""Strategies of FlowSchema and PriorityLevelConfiguration.

Follows ``pkg/registry/flowcontrol`` and ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.kinds.conversions.moved_fields import KEEP_ZERO
from simkit.kinds.parts.cells import NONE, created
from simkit.kinds.parts.copy_on_write import (
    keep_metadata_and_all_but_status,
    null_where_empty,
    own_copy,
    own_items,
    prepared,
)
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.validation.fields import alone, status_of
from simkit.kinds.rules import REQUIRED, Check, Row, by, distinct, fields, first, items, must, row, table, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta import datasets
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of
from simkit.meta.wording import Worded, joined

_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


def _validate_verbs(behaviour: ServedBehaviour, path: str, verbs: Sequence[str]) -> Errors:
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield unsupported(path, texts(verbs), _VERBS)


def _validate_namespace(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
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
    "verbs", must.be_given("verbs must contain at least one value"), alone("verbs"), by(_validate_verbs)
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
        row("apiGroups", must.be_given("resource rules must supply at least one api group"), alone("api groups")),
        row("resources", must.be_given("resource rules must supply at least one resource"), alone("resources")),
        row(
            "namespaces",
            must.be_given("resource rules that are not cluster scoped must supply at least one namespace"),
            unless=fields.given("clusterScope"),
        ),
        row("namespaces", alone("namespaces"), _unless_any(by(_validate_namespace))),
    ),
    row(
        "nonResourceRules[]",
        _VERBS_ROW,
        row(
            "nonResourceURLs",
            must.be_given("nonResourceURLs must contain at least one value"),
            alone("non-resource URLs"),
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


_METHODS: Final = ("ByNamespace", "ByUser")
_LISTS: Final = {"resourceRules": ("apiGroups", "resources", "verbs"), "nonResourceRules": ("nonResourceURLs", "verbs")}


def _default_flow_schema(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}
    for rule in own_items(own_copy(draft, "spec"), "rules"):
        null_where_empty(rule, "subjects")
        for part, names in _LISTS.items():
            for one in own_items(rule, part):
                null_where_empty(one, *names)


def _validate_fixed(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    """The errors of changes to mandatory objects, except the shares of the exempt priority level."""
    spec, name, kind = obj["spec"], name_of(obj), obj["kind"]
    wanted = mandatory_spec(behaviour, kind, name)
    if wanted is None:
        return
    free = "exempt" in wanted
    but = " except the 'spec.exempt' field" if free else ""
    if not same({**spec, "exempt": wanted["exempt"]} if free else spec, wanted):
        shown = structure(f"flowcontrol.{kind}Spec", spec)
        yield invalid_value(".spec", shown, f"spec of '{name}'{but} must equal the fixed value")


def _validate_method(behaviour: ServedBehaviour, path: str, method: Object) -> Errors:
    if method.get("type") not in _METHODS:
        yield unsupported(f"{path}.type", structure("flowcontrol.FlowDistinguisherMethod", method), _METHODS)


_FLOW_SCHEMA_RULES: Final = validation(
    row("spec.matchingPrecedence", must.hold(lambda precedence: precedence > 0, "must be a positive value")),
    row("spec.matchingPrecedence", must.hold(lambda last: last <= 10000, "must not be greater than 10000")),
    row(
        "spec.matchingPrecedence",
        must.hold(lambda first: first != 1, "only the schema named 'exempt' may have matchingPrecedence 1"),
        unless=fields.equal("metadata.name", "exempt"),
    ),
    row("spec.distinguisherMethod", by(_validate_method)),
    row(
        "spec.priorityLevelConfiguration.name",
        must.be_given("must reference a priority level"),
        must.be(dns_subdomain),
    ),
    row("spec.rules[]", POLICY_RULE),
    by(_validate_fixed),
)


def _flow_schema_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    dangling = status_of(obj, "Dangling")
    return [
        name_of(obj),
        at(spec, "priorityLevelConfiguration", "name") or "",
        spec.get("matchingPrecedence") or 0,
        at(spec, "distinguisherMethod", "type") or NONE,
        created(obj, now),
        dangling.get("status") if dangling is not None else "?",
    ]


_SHARES: Final = "nominalConcurrencyShares"
_QUEUING: Final = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
_HASH_BITS: Final = 60


def _default_priority_level_configuration(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    if spec.get("exempt") is not None:
        exempt = own_copy(spec, "exempt")
        exempt.setdefault(_SHARES, 0)
        exempt.setdefault("lendablePercent", 0)
    if spec.get("limited") is not None:
        limited = own_copy(spec, "limited")
        limited.setdefault(_SHARES, 30)
        if behaviour.applies("levels-lend-seats"):
            limited.setdefault("lendablePercent", 0)
        if at(limited, "limitResponse", "queuing") is not None:
            queuing = own_copy(limited, "limitResponse", "queuing")
            queuing.update({name: value for name, value in _QUEUING.items() if not queuing.get(name)})


def _validate_note(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    """The error of the annotation of v1beta3, which other versions may not have."""
    if KEEP_ZERO in annotations_of(obj):
        yield forbidden_field(".metadata.annotations", f"annotation '{KEEP_ZERO}' is forbidden")


def _differs_from_name(obj: Object) -> bool:
    return bool((name_of(obj) == "exempt") != (at(obj, "spec", "type") == "Exempt"))


def _validate_queuing(behaviour: ServedBehaviour, path: str, queuing: Object) -> Errors:
    queues, hand = queuing["queues"], queuing["handSize"]
    if hand <= 0:
        yield invalid_value(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid_value(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        sizes = f"deckSize {queues} and handSize {hand}"
        text = f"required entropy bits of {sizes} should not be greater than {_HASH_BITS}"
        yield invalid_value(f"{path}.handSize", hand, text)


_ONLY: Final = Worded(
    "exempt-levels-in-plain-words",
    "must be 'Exempt' if and only if `name` is 'exempt'",
    "type must be 'Exempt' if and only if name is 'exempt'",
)
_AMOUNT: Final = must.hold(lambda number: number > 0, "must be positive")
_SHARE: Final = row(_SHARES, must.hold(lambda shares: shares >= 0, "must be a non-negative integer"))
_PERCENT: Final = row("lendablePercent", must.be_between(0, 100))
_EXEMPT: Final = fields.equal("type", "Exempt")
_LIMITED: Final = fields.equal("type", "Limited")
_QUEUE: Final = fields.equal("type", "Queue")
_PRIORITY_LEVEL_CONFIGURATION_RULES: Final = validation(
    by(_validate_note),
    row("spec.type", must.be_otherwise(_ONLY), when=_differs_from_name, zero=""),
    row(
        "spec",
        row("limited", must.be_absent("must be nil if the type is not Limited", pointer=True), when=_EXEMPT),
        row("exempt", _SHARE, _PERCENT, when=_EXEMPT),
        row("exempt", must.be_absent("must be nil if the type is Limited", pointer=True), when=_LIMITED),
        row(
            "limited",
            must.be_given("must not be empty when type is Limited", pointer=True),
            table(
                _SHARE,
                row(
                    "limitResponse",
                    row(
                        "queuing",
                        must.be_absent("must be nil if limited.limitResponse.type is not Limited", pointer=True),
                        when=fields.equal("type", "Reject"),
                    ),
                    row("type", must.be_one_of("Queue", "Reject"), zero=""),
                    row(
                        "queuing",
                        must.be_given("must not be empty if limited.limitResponse.type is Limited", pointer=True),
                        table(
                            row("queueLengthLimit", _AMOUNT),
                            row(
                                "queues",
                                _AMOUNT,
                                must.hold(lambda most: most <= 10**7, "must not be greater than 10000000"),
                            ),
                            by(_validate_queuing),
                        ),
                        when=_QUEUE,
                    ),
                    zero={},
                ),
                _PERCENT,
                row(
                    "borrowingLimitPercent",
                    must.hold(lambda percent: percent >= 0, "if specified, must be a non-negative integer"),
                ),
            ),
            when=_LIMITED,
        ),
        row("type", must.be_one_of("Exempt", "Limited"), zero=""),
    ),
    by(_validate_fixed),
)


def _priority_level_configuration_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    queuing = at(spec, "limited", "limitResponse", "queuing") or {}
    shares = at(spec, "limited", _SHARES)
    queues = [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(obj), spec.get("type") or "", NONE if shares is None else shares, *queues, created(obj, now)]


STRATEGIES: Final = {
    "FlowSchema": Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        default=_default_flow_schema,
        prepare=_prepare,
        validate=_FLOW_SCHEMA_RULES,
        raises_generation=spec_differs,
        print_row=_flow_schema_row,
        row_sort_key=lambda obj: (at(obj, "spec", "matchingPrecedence") or 0, name_of(obj)),
        subresources={"status": Subresource(keep_metadata_and_all_but_status, FLOW_STATUS)},
        status_reset_fields=(("metadata",),),
    ),
    "PriorityLevelConfiguration": Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        default=_default_priority_level_configuration,
        prepare=prepared(status={}),
        validate=_PRIORITY_LEVEL_CONFIGURATION_RULES,
        raises_generation=spec_differs,
        print_row=_priority_level_configuration_row,
        subresources={"status": Subresource(keep_metadata_and_all_but_status, FLOW_STATUS)},
        status_reset_fields=(("metadata",),),
    ),
}

"""The default roles and bindings of each release, their form, and their reconciliation by a starting server.

They are made of those of 1.30 and the recorded differences, most of which hang on a feature gate. A form, in which
rules and in which order a release writes what a role grants, counts only where it grants the same.
plugin/pkg/auth/authorizer/rbac/bootstrappolicy and k8s.io/component-helpers/auth/rbac/reconciliation, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, key_of
from simkit.logic.rbac.cover import uncovered
from simkit.logic.rbac.rule import rules_of
from simkit.meta import datasets
from simkit.meta.domain import RBAC_GROUP, label
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, name_of, namespace_of, with_metadata
from simkit.meta.unreadable import UnreadableObject
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.releases import BASE, minor_of
from simkit.seams.authorization import stated
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump

AUTOUPDATE: Final = label("autoupdate", "rbac.authorization")
"""The annotation that disables reconciliation of an object with the value ``false``."""


def default_objects(release: str, gates: Mapping[str, bool] | None = None) -> list[Object]:
    """The default roles and bindings of a release, in the order of their creation.

    Parameters
    ----------
    gates
        The values of the release's feature gates, since some roles hang on them; None: their defaults.
    """
    objects: list[Object] = datasets.load(f"rbac/default-objects-{BASE}.json")
    return of_release(objects, release, gates)


def reconcile(snapshot: Snapshot, gates: Mapping[str, bool] | None = None) -> Iterator[tuple[Object, bool]]:
    """The writes of a starting server in order: objects to create (False) or to replace (True).

    Permissions, subjects, labels and annotations that are missing come back; what was added stays. A binding in
    ``outdated_bindings`` has to be deleted first: here it is one to create.
    """
    for wanted, existing in _with_existing(snapshot, default_objects(snapshot.release, gates)):
        if existing is None or _is_outdated(existing, wanted):
            yield wanted, False
        else:
            repaired = _repaired(existing, wanted)
            if repaired != existing:
                yield repaired, True


def outdated_bindings(snapshot: Snapshot) -> Iterator[Key]:
    """Default bindings with a wrong role reference. They cannot be updated, only recreated."""
    for wanted, existing in _with_existing(snapshot, default_objects(snapshot.release)):
        if existing is not None and _is_outdated(existing, wanted):
            yield Key(RESOURCES_OF_KINDS[wanted["kind"]], namespace_of(wanted), name_of(wanted))


def _with_existing(snapshot: Snapshot, default: Iterable[Object]) -> Iterator[tuple[Object, Object | None]]:
    """Default objects, each with the stored one, but for those that are left as they are: one that cannot be read, and
    one whose reconciliation is disabled.
    """
    for wanted in default:
        try:
            existing = snapshot.get(RESOURCES_OF_KINDS[wanted["kind"]], name_of(wanted), namespace_of(wanted))
        except UnreadableObject:
            continue
        if existing is None or annotations_of(existing).get(AUTOUPDATE) != "false":
            yield wanted, existing


def _is_outdated(existing: Object, wanted: Object) -> bool:
    return "roleRef" in wanted and _reference(existing) != _reference(wanted)


def _repaired(existing: Object, wanted: Object) -> Draft:
    labels, annotations = labels_of(existing), annotations_of(existing)
    repaired = with_metadata(
        existing,
        labels={**labels_of(wanted), **labels} or None,
        annotations={**annotations_of(wanted), **annotations} or None,
    )
    if "roleRef" in wanted:
        return _with_subjects(repaired, wanted)
    missing = [rule.entry() for rule in uncovered(rules_of(existing), rules_of(wanted))]
    if missing:
        repaired["rules"] = [*(existing.get("rules") or ()), *missing]
    return _with_selectors(repaired, wanted)


def _with_subjects(repaired: Draft, wanted: Object) -> Draft:
    present = [_subject(subject) for subject in repaired.get("subjects") or ()]
    missing = [subject for subject in wanted.get("subjects") or () if _subject(subject) not in present]
    return {**repaired, "subjects": [*(repaired.get("subjects") or ()), *missing]} if missing else repaired


def _with_selectors(repaired: Draft, wanted: Object) -> Draft:
    present = at(repaired, "aggregationRule", "clusterRoleSelectors") or []
    needed = at(wanted, "aggregationRule", "clusterRoleSelectors") or []
    missing = [selector for selector in needed if selector not in present]
    return {**repaired, "aggregationRule": {"clusterRoleSelectors": [*present, *missing]}} if missing else repaired


def _reference(binding: Object) -> Mapping[str, Any]:
    return {"apiGroup": RBAC_GROUP, **(binding.get("roleRef") or {})}


def _subject(subject: Object) -> Mapping[str, Any]:
    group = "" if subject.get("kind") == "ServiceAccount" else RBAC_GROUP
    return {"apiGroup": group, **{key: value for key, value in subject.items() if value}}


Permission = tuple[str, str, str, str]
_EVERY: Final = ("",)


_forms: Final[Callable[[], Mapping[str, Sequence[Mapping[str, Any]]]]] = datasets.lazy("rbac/forms.json")


def in_form(obj: Object, release: str) -> Object:
    """A default role with its rules as the release writes them, if that is known; any other object as it is."""
    if "rules" not in obj or release == BASE:
        return obj
    at = minor_of(release)
    for form in _forms().get(name_of(obj), ()):
        if minor_of(form["since"]) <= at <= minor_of(form["last"]) and granted(form["rules"]) == granted(obj["rules"]):
            return {**obj, "rules": form["rules"]}
    return obj


def granted(rules: Sequence[Object]) -> frozenset[Permission]:
    """The permissions in rules, one by one: group, resource, name, verb; a path stands in the place of a resource.

    Examples
    --------
    >>> sorted(granted([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]))
    [('', 'pods', '', 'get'), ('', 'pods', '', 'list')]
    """
    return frozenset(each for rule in rules for each in _of_rule(rule))


def _of_rule(rule: Object) -> Iterator[Permission]:
    for verb in rule["verbs"]:
        yield from (("", url, "", verb) for url in rule.get("nonResourceURLs", ()))
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                yield from ((group, resource, name, verb) for name in rule.get("resourceNames", _EVERY))


def settled_rbac(snapshot: Snapshot) -> Mapping[Key, Object]:
    """The roles and bindings that differ once a server has started over the objects of a snapshot.

    The server creates or repairs its default roles and bindings, then the aggregation controller fills cluster roles.

    Parameters
    ----------
    snapshot
        The objects; they must be all there is.

    Returns
    -------
    Mapping
        The created and the changed objects, by key.
    """
    written = {key_of(obj, RESOURCES_OF_KINDS[obj["kind"]]): obj for obj, _ in reconcile(snapshot)}
    stored = {key_of(role, CLUSTER_ROLES): role for role in snapshot.scan(CLUSTER_ROLES)}
    roles = stored | {key: obj for key, obj in written.items() if key.resource == CLUSTER_ROLES}
    filled = {key_of(role, CLUSTER_ROLES): role for role in with_aggregated_rules(roles.values())}
    return written | {key: role for key, role in filled.items() if role is not roles[key]}


def as_started(manifests: Dump) -> Dump:
    """Manifests as the store of a server that was started over them: with settled roles and bindings.

    What the server creates or changes has no place in the source, and so no origin of its own. A uid in a manifest
    means nothing to a server that has no such object yet, and is left out. The server has the authorizers that the
    manifests show, in a static pod of kube-apiserver or by the provider of their nodes; else RBAC.
    """
    changed = settled_rbac(manifests.snapshot())
    shown = manifests.authorization
    chain = shown if shown.source or shown.outside else stated(("RBAC",))
    own = {key: _without_uid(obj) for key, obj in manifests.keyed.items()}
    return replace(manifests, keyed={**own, **changed}, stated=chain)


def _without_uid(obj: Object) -> Object:
    metadata = obj["metadata"]
    if "uid" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "uid"}}


_METADATA: Final[Mapping[str, Any]] = {
    "labels": {label("bootstrapping"): "rbac-defaults"},
    "annotations": {label("autoupdate", "rbac.authorization"): "true"},
}


changes: Final[Callable[[], Sequence[Mapping[str, Any]]]] = datasets.lazy("rbac/changes.json")
"""The differences: a role (``whole``), some of its rules, or of the subjects of its binding, since or until a
release, or with feature gates; in a namespace, or of the cluster."""


def assumed(release: str) -> Iterator[str]:
    """The roles for which it is assumed, not known, that a release has some of their rules."""
    for change in changes():
        first, last = change.get("assumed", ("", ""))
        if first and minor_of(first) <= minor_of(release) <= minor_of(last):
            yield change["role"]


def of_release(base: Sequence[Object], release: str, gates: Mapping[str, bool] | None = None) -> list[Object]:
    """The default roles and bindings of a release, made of those of 1.30.

    Parameters
    ----------
    gates
        The values of the release's feature gates; None: their defaults.
    """
    values = parse_feature_gates({}, release).values if gates is None else gates
    usual = parse_feature_gates({}, BASE).values
    objects: dict[tuple[str, str, str], Object] = {_key(obj): obj for obj in base}
    for change in sorted(changes(), key=lambda change: not change.get("whole")):
        wanted, there = _holds(change, release, values), _holds(change, BASE, usual)
        if wanted != there:
            _carry_out(objects, change, wanted=wanted)
    return [in_form(obj, release) for obj in objects.values()]


def _key(obj: Object) -> tuple[str, str, str]:
    return obj["kind"], (obj.get("metadata") or {}).get("namespace", ""), name_of(obj)


def _holds(change: Mapping[str, Any], release: str, gates: Mapping[str, bool]) -> bool:
    at = minor_of(release)
    if "since" in change and at < minor_of(change["since"]):
        return False
    if "last" in change and at > minor_of(change["last"]):
        return False
    return all(is_enabled(gate, release, gates) for gate in change.get("gates", ()))


def _carry_out(objects: dict[tuple[str, str, str], Object], change: Mapping[str, Any], *, wanted: bool) -> None:
    name, namespace = change["role"], change.get("namespace", "")
    prefix = "" if namespace else "Cluster"
    role, binding = (f"{prefix}Role", namespace, name), (f"{prefix}RoleBinding", namespace, name)
    if "subjects" in change:
        objects[binding] = _with_more_subjects(objects[binding], change["subjects"], wanted=wanted)
    elif not change.get("whole"):
        if role in objects:
            changed = _with if wanted else _without
            objects[role] = {**objects[role], "rules": changed(objects[role]["rules"], change["rules"])}
    elif wanted:
        objects |= {_key(obj): obj for obj in _made(change)}
    else:
        objects.pop(role, None)
        objects.pop(binding, None)


def _with_more_subjects(binding: Object, subjects: Sequence[Object], *, wanted: bool) -> Object:
    """A binding with some subjects more, or without them."""
    others = [each for each in binding["subjects"] if each not in subjects]
    return {**binding, "subjects": [*others, *subjects] if wanted else others}


def _made(change: Mapping[str, Any]) -> Iterator[Object]:
    version, name = f"{RBAC_GROUP}/v1", change["role"]
    metadata = {"name": name, **_METADATA}
    yield {"kind": "ClusterRole", "apiVersion": version, "metadata": metadata, "rules": change["rules"]}
    if "subject" in change:
        reference = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name}
        head = {"kind": "ClusterRoleBinding", "apiVersion": version, "metadata": metadata}
        yield {**head, "roleRef": reference, "subjects": [change["subject"]]}


def _with(rules: Sequence[Object], more: Sequence[Object]) -> list[Object]:
    """The rules with some more; a rule about the same resources gets the verbs."""
    made = list(rules)
    for each in more:
        index = next((index for index, rule in enumerate(made) if _about(rule) == _about(each)), None)
        if index is None:
            made.append(each)
        else:
            made[index] = {**made[index], "verbs": sorted({*made[index]["verbs"], *each["verbs"]})}
    return made


def _about(rule: Object) -> Object:
    return {name: sorted(value) for name, value in rule.items() if name != "verbs"}


def _without(rules: Sequence[Object], fewer: Sequence[Object]) -> list[Object]:
    """The rules with some permissions less; a rule is taken apart where only a part of it goes."""
    left = list(rules)
    for gone in fewer:
        left = [part for rule in left for part in _less(rule, gone)]
    return left


def _less(rule: Object, gone: Object) -> Iterator[Draft]:
    if "nonResourceURLs" in gone or "nonResourceURLs" in rule:
        kept = [url for url in rule.get("nonResourceURLs", ()) if url not in gone.get("nonResourceURLs", ())]
        if kept or "nonResourceURLs" not in rule:
            yield {**rule, "nonResourceURLs": kept} if "nonResourceURLs" in rule else dict(rule)
        return
    same = rule["apiGroups"] == gone["apiGroups"] and rule.get("resourceNames") == gone.get("resourceNames")
    hit = [each for each in rule["resources"] if same and each in gone["resources"]]
    verbs = [verb for verb in rule["verbs"] if verb not in gone["verbs"]]
    kept = [each for each in rule["resources"] if each not in hit]
    if kept:
        yield {**rule, "resources": kept}
    if hit and verbs:
        yield {**rule, "resources": hit, "verbs": verbs}

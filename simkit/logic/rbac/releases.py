"""The default roles of each release, made of those of 1.30 and the recorded differences.

Most differences hang on a feature gate: a server grants a controller what it needs when the feature is on. So the
roles follow ``--feature-gates`` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.logic.rbac.forms import in_form
from simkit.meta import datasets
from simkit.meta.domain import RBAC_GROUP, label
from simkit.meta.objects import Draft, Object, name_of
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.releases import BASE, minor_of

_METADATA: Final[Mapping[str, Any]] = {
    "labels": {label("bootstrapping"): "rbac-defaults"},
    "annotations": {label("autoupdate", "rbac.authorization"): "true"},
}


@cache
def changes() -> Sequence[Mapping[str, Any]]:
    """The differences: a role (``whole``), some of its rules, or of the subjects of its binding, since or until a
    release, or with feature gates; in a namespace, or of the cluster."""
    found: Sequence[Mapping[str, Any]] = datasets.load("rbac/changes.json")
    return found


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
        objects[binding] = _with_subjects(objects[binding], change["subjects"], wanted=wanted)
    elif not change.get("whole"):
        if role in objects:
            changed = _with if wanted else _without
            objects[role] = {**objects[role], "rules": changed(objects[role]["rules"], change["rules"])}
    elif wanted:
        objects |= {_key(obj): obj for obj in _made(change)}
    else:
        objects.pop(role, None)
        objects.pop(binding, None)


def _with_subjects(binding: Object, subjects: Sequence[Object], *, wanted: bool) -> Object:
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

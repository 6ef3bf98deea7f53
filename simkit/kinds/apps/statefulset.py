"""Strategy of StatefulSet: defaulting, preparation, validation, warnings, printer columns.

Follows ``pkg/registry/apps/statefulset/strategy.go`` and ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.cells import created
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, without_empty
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import (
    names_and_images,
    prepare_template,
    validate_lasting,
    validate_metadata,
    validate_template,
)
from simkit.kinds.parts.template_owner import (
    counts_checked,
    default_missing,
    keeping_dependents,
    selector_of,
    template_warnings,
    validate_mismatch,
    validate_nonnegative_fields,
    validate_selector,
)
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.volume.claim_spec import CLAIM_SPEC, fraction_warnings
from simkit.kinds.rules import placed
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Draft, Object, at, name_of

_CHANGEABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_COUNTS: Final = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
_PARTS: Final = (
    ("readyReplicas", "replicas"),
    ("currentReplicas", "replicas"),
    ("updatedReplicas", "replicas"),
    ("availableReplicas", "replicas"),
    ("availableReplicas", "readyReplicas"),
)
_TEXTS: Final = {
    "replicas": "cannot be greater than status.replicas",
    "readyReplicas": "cannot be greater than status.readyReplicas",
}
_CLAIM: Final[Mapping[str, Any]] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}


def _told(behaviour: ServedBehaviour) -> str:
    """The error of a changed field, with those that may change in the release."""
    names = ["'replicas'", "'ordinals'", "'template'", "'updateStrategy'"]
    if not behaviour.applies("ordinals-of-sets-change"):
        names.remove("'ordinals'")
    if behaviour.applies("history-limit-of-statefulsets"):
        names.append("'revisionHistoryLimit'")
    told = f"{', '.join(names)}, 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
    if not behaviour.applies("retention-of-sets-changes"):
        told = "'replicas', 'template', and 'updateStrategy'"
    return f"updates to statefulset spec for fields other than {told} are forbidden"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10})
    spec["podManagementPolicy"] = spec["podManagementPolicy"] or "OrderedReady"
    strategy = own_copy(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        own_copy(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        default_missing(own_copy(strategy, "rollingUpdate"), {"partition": 0})
    policy = own_copy(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        policy[name] = policy.get(name) or "Retain"
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [_claim(one) for one in spec["volumeClaimTemplates"]]
    spec.setdefault("template", {})
    default_template(behaviour, spec)


def _claim(template: Object) -> Object:
    made: Draft = {**_CLAIM, **template, **_CLAIM}
    spec = own_copy(made, "spec")
    default_missing(spec, {"volumeMode": "Filesystem"})
    without_empty(spec, ("accessModes",))
    status = own_copy(made, "status")
    status["phase"] = status.get("phase") or "Pending"
    return made


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    prepare_template(behaviour, spec, at(old, "spec", "template", "spec"))
    if old is None:
        draft["status"] = {"replicas": 0, "availableReplicas": 0}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec = obj["spec"]
    policy = spec.get("podManagementPolicy") or ""
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid_value("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_strategy("spec.updateStrategy", spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        if retention.get(name) not in ("Retain", "Delete"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield unsupported(path, retention.get(name) or "", ("Retain", "Delete"))
    yield from validate_nonnegative_fields("spec", spec, ("replicas", "minReadySeconds"))
    yield from validate_nonnegative_fields("spec.ordinals", spec.get("ordinals") or {}, ("start",))
    if old is None and behaviour.applies("claim-templates-of-statefulsets-checked"):
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from placed(
                f"spec.volumeClaimTemplates[{index}].spec", CLAIM_SPEC(behaviour, claim.get("spec") or {})
            )
    if old is None and spec.get("serviceName") and behaviour.applies("service-names-of-statefulsets-checked"):
        yield from validate_text("spec.serviceName", spec["serviceName"], dns_label)
    yield from _validate_template(behaviour, spec, whole=_is_whole(behaviour, old))
    if old is not None and _fixed(behaviour, spec) != _fixed(behaviour, old.get("spec") or {}):
        yield forbidden_field("spec", _told(behaviour))


def _is_whole(behaviour: ServedBehaviour, old: Object | None) -> bool:
    """True if the whole template is checked: not where the stored one is wrong already."""
    if not behaviour.applies("templates-of-statefulsets-checked"):
        return False
    return old is None or not any(_validate_template(behaviour, old.get("spec") or {}, whole=True))


def _fixed(behaviour: ServedBehaviour, spec: Object) -> Mapping[str, Any]:
    limit = () if not behaviour.applies("history-limit-of-statefulsets") else ("revisionHistoryLimit",)
    return {name: value for name, value in spec.items() if name not in (*_CHANGEABLE, *limit)}


def _with_claims(spec: Object) -> Object:
    """The template as its pods will be: named by the controller, with volumes of the claims."""
    template, claims = spec.get("template") or {}, spec.get("volumeClaimTemplates") or ()
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in ("subdomain", "hostname")}
    names = [name_of(claim) for claim in claims]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
    volumes = [*made, *(one for one in pod.get("volumes") or () if one.get("name") not in names)]
    return {**template, "spec": {**pod, "volumes": volumes} if volumes else pod}


def _validate_strategy(path: str, strategy: Object) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        yield required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            shown = structure("apps.RollingUpdateStatefulSetStrategy", rolling)
            yield invalid_value(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind == "RollingUpdate":
        yield from validate_nonnegative_fields(f"{path}.rollingUpdate", rolling or {}, ("partition",))
    else:
        shown = structure("apps.StatefulSetUpdateStrategy", strategy)
        yield invalid_value(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _validate_template(behaviour: ServedBehaviour, spec: Object, *, whole: bool) -> Errors:
    """The errors of the template: of its labels and annotations alone where pods are checked when they are made."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    yield from validate_selector(behaviour, "spec.selector", selector, "statefulset")
    chosen = selector_of(selector)
    if chosen is None:
        yield invalid_value("spec.selector", shown_selector(selector), "")
    else:
        yield from validate_mismatch("spec.template", template, chosen)
        if whole:
            yield from validate_template(behaviour, "spec.template", _with_claims(spec))
        yield from validate_metadata(behaviour, "spec.template", template)
    yield from validate_lasting("spec.template", template, "StatefulSet")


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    yield from template_warnings(behaviour, obj, old)
    for index, claim in enumerate(at(obj, "spec", "volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]" + (".Spec" if old is not None else "")
        amount = at(claim, "spec", "resources", "requests", "storage")
        yield from fraction_warnings(behaviour, f"{path}.resources.requests[storage]", amount)
    if (at(obj, "spec", "revisionHistoryLimit") or 0) < 0 and behaviour.applies("negative-history-of-sets-warned"):
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {text}"


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [name_of(obj), ready, created(obj, now), *names_and_images(spec.get("template"))]


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    validate_name=dns_label,
    default=_default,
    empty={"spec": {"replicas": 0}},
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, counts_checked(_COUNTS, _PARTS, _TEXTS))},
    warnings=_warnings,
)
STRATEGY = replace(_STABLE, older_versions=keeping_dependents(_STABLE, "apps/v1beta1", "apps/v1beta2"))

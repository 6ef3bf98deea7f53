"""Strategy of PodTemplate: defaulting, validation, warnings, printer columns.

Follows ``pkg/registry/core/podtemplate/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.pod.defaults.spec import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template, validate_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.printers.cells import pairs
from simkit.kinds.parts.workload.template_owner import has_generation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object, at, labels_of, name_of


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    draft.setdefault("template", {})
    default_template(behaviour, draft)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    template = obj.get("template") or {}
    return [name_of(obj), *names_and_images(template), pairs(labels_of(template))]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=lambda behaviour, draft, old: prepare_template(behaviour, draft, at(old, "template", "spec")),
    validate=lambda behaviour, obj, _: validate_template(behaviour, "template", obj["template"]),
    raises_generation=spec_differs,
    has_generation=has_generation,
    print_row=_row,
    warnings=lambda behaviour, obj, _: pod_warnings(behaviour, "template", obj["template"]),
    return_deleted_object=True,
)

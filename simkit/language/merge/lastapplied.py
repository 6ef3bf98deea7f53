"""The last-applied annotation of client-side apply, in the transition to server-side apply.

The client of that name may take over what it had applied by itself without conflicts, and finds the annotation kept up
to date as long as it is there.

k8s.io/apimachinery/pkg/util/managedfields/internal, lastappliedmanager.go and lastappliedupdater.go, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from simkit.language.merge.fieldset import Fields, difference, escaped_json
from simkit.language.merge.type_def import TypeDef
from simkit.language.merge.typed import compare, field_set
from simkit.meta.domain import label
from simkit.meta.objects import Draft, Object, annotations_of, metadata

CLIENT: Final = "kubectl"
ANNOTATION: Final = label("last-applied-configuration", CLIENT)
MAX_ANNOTATIONS_BYTES: Final = 256 * 1024


def owned_fields(live: Object, type_def: TypeDef, api_version: str) -> Fields | None:
    """The fields of the last client-side configuration that still have its values in the live object.

    None where there is no such intent, or none in this version.
    """
    text = annotations_of(live).get(ANNOTATION)
    if not text:
        return None
    try:
        last = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return None
    fields = field_set(last, type_def)
    for changed in compare(last, live, type_def):
        fields = difference(fields, changed)
    return fields


def renewed(result: Draft, applied: Object) -> Draft:
    """The result of an apply with the annotation set to this configuration, if the object has one."""
    annotations = dict(annotations_of(result))
    if not annotations.get(ANNOTATION):
        return result
    annotations[ANNOTATION] = _text(applied)
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        del annotations[ANNOTATION]
    return {**result, "metadata": {**metadata(result), "annotations": annotations}}


def _text(applied: Object) -> str:
    about: dict[str, Any] = {name: value for name, value in metadata(applied).items() if name != "managedFields"}
    if "annotations" in about:
        about["annotations"] = {name: value for name, value in annotations_of(applied).items() if name != ANNOTATION}
        if not about["annotations"]:
            del about["annotations"]
    intent = {**applied, "metadata": about}
    return escaped_json(orjson.dumps(intent, option=orjson.OPT_SORT_KEYS).decode()) + "\n"

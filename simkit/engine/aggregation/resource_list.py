"""Validation of another server's discovery: it must be a list of resources.

Upstream: k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr, ValidationError


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: StrictStr
    kind: StrictStr
    namespaced: StrictBool = False
    verbs: list[StrictStr]
    group: StrictStr = ""
    version: StrictStr = ""
    singularName: StrictStr = ""  # noqa: N815 - the name in the document
    shortNames: list[StrictStr] = []  # noqa: N815
    categories: list[StrictStr] = []


class _List(BaseModel):
    model_config = ConfigDict(extra="ignore")

    resources: list[_Row]


def is_resource_list(document: Mapping[str, Any]) -> bool:
    """True if a document has the rows, fields and types of an APIResourceList.

    Examples
    --------
    >>> is_resource_list({"resources": [{"name": "things", "kind": "Thing", "verbs": ["get"]}]})
    True
    >>> is_resource_list({"resources": [{"name": 7}]})
    False
    """
    try:
        _List.model_validate(document)
    except ValidationError:
        return False
    return True

"""Routing of requests for custom resources, where it differs from that for built-in ones.

References
----------
``k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go``, release 1.30.
"""

from __future__ import annotations

from simkit.engine.pipeline.request_info import RequestInfo
from simkit.kinds.apiextensions.definition import NO_NEW_ONES, CustomVersion
from simkit.meta.behaviour import applies
from simkit.meta.errors import StatusError, no_path, not_found
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource


def builtin_group(catalogue: Catalogue, group: str) -> bool:
    """True if a group is served with resources of the release: others leave no trace where nothing is found."""
    return any(not resource.custom for resource in catalogue.resources(group))


def check_custom_route(info: RequestInfo, resource: Resource) -> None:
    """Raises kube-apiserver's 404 if the path does not fit the scope, or names a missing subresource."""
    if info.namespace and not resource.namespaced:
        raise no_path()
    if resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        raise no_path()
    if info.subresource and info.subresource not in resource.subresources:
        raise not_found(resource.group_resource, info.name)


def refuse_new(custom: CustomVersion, info: RequestInfo) -> None:
    """Raises 405 for a POST to a terminating definition, where admission does not answer it."""
    if info.verb != "create" or not custom.definition.is_terminating or applies("terminating-definition-forbids"):
        return
    details = {"group": info.group, "kind": info.resource}
    raise StatusError(405, "MethodNotAllowed", NO_NEW_ONES, details=details)

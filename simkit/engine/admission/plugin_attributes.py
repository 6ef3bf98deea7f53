"""The class, the resource names and the refusal that admission plugins share.

Upstream: k8s.io/apiserver/pkg/admission/handler.go and k8s.io/apiserver/pkg/admission/errors.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from simkit.meta.domain import AUTHORIZATION_GROUP, CERTIFICATES_GROUP, api_group
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, metadata
from simkit.seams import OPERATIONS, Operation, Reader, Review

LIMIT_RANGES: Final = GroupResource("", "limitranges")
PRIORITY_CLASSES: Final = GroupResource(api_group("scheduling"), "priorityclasses")
RUNTIME_CLASSES: Final = GroupResource(api_group("node"), "runtimeclasses")
INGRESSES: Final = GroupResource(api_group("networking"), "ingresses")
INGRESS_CLASSES: Final = GroupResource(api_group("networking"), "ingressclasses")
LOCAL_ACCESS_REVIEWS: Final = GroupResource(AUTHORIZATION_GROUP, "localsubjectaccessreviews")
POD_CERTIFICATES: Final = GroupResource(CERTIFICATES_GROUP, "podcertificaterequests")
TRUST_BUNDLES: Final = GroupResource(CERTIFICATES_GROUP, "clustertrustbundles")

CREATION: Final[frozenset[Operation]] = frozenset({"CREATE"})
UPDATES: Final[frozenset[Operation]] = frozenset({"UPDATE"})
WRITES: Final[frozenset[Operation]] = CREATION | UPDATES
CHANGES: Final[frozenset[Operation]] = OPERATIONS - {"CONNECT"}


class Handler:
    """An admission plugin, declared with the operations and the resources that it handles (``admission.Handler``).

    Its name is that of its class. Without resources it handles all of them.

    Examples
    --------
    >>> class NoLimits(Handler, operations=CREATION, resources={LIMIT_RANGES}):
    ...     def validate(self, review: Review) -> None:
    ...         raise admission_forbidden(review, "there are limits enough")
    >>> NoLimits.name, sorted(NoLimits.operations)
    ('NoLimits', ['CREATE'])
    """

    name: ClassVar[str]
    operations: ClassVar[frozenset[Operation]]
    resources: ClassVar[frozenset[GroupResource] | None]
    leaves_process: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, operations: Collection[Operation] = OPERATIONS, resources: Collection[GroupResource] | None = None
    ) -> None:
        super().__init_subclass__()
        cls.name, cls.operations = cls.__name__, frozenset(operations)
        cls.resources = None if resources is None else frozenset(resources)


class StoreHandler(Handler):
    """A plugin that looks at stored objects."""

    def __init__(self, store: Reader) -> None:
        self._store = store


def name_in(review: Review) -> str:
    """The name in a refusal: the object's, the prefix of a generated one, or "Unknown"."""
    if review.name:
        return review.name
    given = metadata(review.object or {})
    return given.get("name") or given.get("generateName") or "Unknown"


def admission_forbidden(review: Review, why: str, *, causes: Sequence[Mapping[str, str]] = ()) -> StatusError:
    """The 403 of a plugin."""
    return forbidden(review.resource, name_in(review), why, causes=causes)


def written(review: Review) -> Object:
    """The object that is being written."""
    return review.object or {}


def with_spec(obj: Object, **changes: Any) -> Object:
    """The object with some fields of its spec set; None removes the field."""
    merged = {**(obj.get("spec") or {}), **changes}
    return {**obj, "spec": {name: value for name, value in merged.items() if value is not None}}

"""The keys under which kube-apiserver stores objects, as a few of its errors name them.

Upstream: k8s.io/apiserver/pkg/storage/errors.go and k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go.
"""

from __future__ import annotations

from simkit.engine.registry.write import Write
from simkit.meta.errors import StatusError, conflict
from simkit.meta.names import Key
from simkit.meta.unreadable import path_of


def uid_conflict(write: Write, given: str, actual: str) -> StatusError:
    """The 409 of a write that asks for another uid than that of the object."""
    text = precondition_failed(write.key, given, actual, dry_run=write.dry_run)
    return conflict(write.scope.told_resource, write.key.name, text)


def precondition_failed(key: Key, given: str, actual: str, *, dry_run: bool = False) -> str:
    """The text of a wrong uid, with the key in kube-apiserver's storage, or below its prefix for a dry run."""
    where = "/".join(filter(None, ("" if dry_run else "registry", path_of(key))))
    return (
        f"StorageError: invalid object, Code: 4, Key: /{where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {actual}"
    )

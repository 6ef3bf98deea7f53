"""The effect of admission policies, executed on a fork: the answers to writes of objects that they would deny."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.admission.policies import PolicyEffect
from simkit.analysis.admission.simulated_writes import POLICY
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Evidence, InLines, proven
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("resource", "namespace", "name", "expected", "code", "message", "confirmed")
_TOLD: Final = 10
"""Objects that were not refused and are told one by one."""


@dataclass(frozen=True, slots=True, repr=False)
class PolicyProof(InLines, Evidence):
    """The result of writing denied objects on a fork. True if some were written and each was refused by a policy."""

    rows: pd.DataFrame
    """One row per object that was tried: see ``to_frame``."""
    denied: int
    """The number of objects that would be denied, tried or not."""

    def __bool__(self) -> bool:
        return bool(len(self.rows)) and bool(self.rows["confirmed"].all())

    def to_frame(self) -> pd.DataFrame:
        """One row per object: resource, namespace, name, expected, code, message, confirmed."""
        return self.rows

    def summary(self) -> pd.DataFrame:
        """The numbers of objects that were tried and refused: what, count."""
        refused = int(self.rows["confirmed"].sum())
        counts = (("would be denied", self.denied), ("tried", len(self.rows)), ("refused", refused))
        return table(counts, ("what", "count"))

    def lines(self) -> Iterator[str]:
        """The evidence, line by line."""
        refused = int(self.rows["confirmed"].sum())
        yield f"{refused:,} of {len(self.rows):,} objects were refused on a fork ({self.denied:,} would be denied)"
        for row in self.rows[~self.rows["confirmed"].astype(bool)].head(_TOLD).itertuples():
            yield f"not refused: {row.resource} {f'{row.namespace}/{row.name}'.strip('/')} ({row.code}) {row.message}"


@proven.register(PolicyEffect)
def prove(effect: PolicyEffect, sandbox: Sandbox, *, limit: int = 100) -> PolicyProof:
    """Execute the claims of an effect: put the policies into force on a fork and write denied objects there.

    Each object is stored once more on the fork, as a dry run, with nothing changed but an annotation.

    Parameters
    ----------
    limit
        How many denied objects are tried, evenly spread over all of them.

    Returns
    -------
    PolicyProof
        True if objects were tried and all refused. ``.to_frame()`` has one row per object: resource, namespace, name,
        expected (the message that was foreseen), code, message, confirmed (the answer is a refusal by an admission
        policy).

    Raises
    ------
    SimkitError
        Where the fork does not take the policies.
    """
    fork, admin = sandbox.fork(), administrator()
    for obj in effect.manifests:
        _enforce(fork, obj, admin)
    refused = effect.rows[effect.rows["action"] == "Deny"].drop_duplicates(["resource", "namespace", "name"])
    step = max(1, -(-len(refused) // limit))
    tried = list(refused.iloc[::step].itertuples(index=False))
    rows = [_tried(fork, row, admin) for row in tracked(tried, "writing objects")]
    return PolicyProof(table(rows, COLUMNS), len(refused))


def _enforce(fork: Sandbox, obj: Object, admin: Identity) -> None:
    resource = catalogue_of(fork.snapshot()).resource_of(obj)
    namespace = namespace_of(obj) or DEFAULT_NAMESPACE
    response = fork.perform(Request.of("POST", resource.collection(namespace), obj), identity=admin)
    if response.status == 409:
        path = resource.path_to(name_of(obj), namespace)
        live = fork.perform(Request.of("GET", path), identity=admin).object
        version = {"resourceVersion": live["metadata"].get("resourceVersion", "")}
        wanted = {**obj, "metadata": {**obj["metadata"], **version}}
        response = fork.perform(Request.of("PUT", path, wanted), identity=admin)
    if response.status >= 400:
        raise SimkitError(f"{obj.get('kind')} {name_of(obj)}: {response.message}")


def _tried(fork: Sandbox, row: Any, admin: Identity) -> tuple[Any, ...]:
    resource = catalogue_of(fork.snapshot()).lookup(row.resource)
    path = f"{resource.path_to(row.name, row.namespace)}?dryRun=All"
    touch = {"metadata": {"annotations": {"simkit/proof": "policy"}}}
    request = Request.of("PATCH", path, touch, content_type="application/merge-patch+json")
    response = fork.perform(request, identity=admin)
    told = (response.status, response.message, POLICY in response.message)
    return row.resource, row.namespace, row.name, row.message, *told

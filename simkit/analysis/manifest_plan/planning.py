"""Try manifests on a fork, and tell what they do: to objects, access, pods and the next release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from simkit.analysis.access.expectations import Suite, read_suite
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.cut.remedy import stored
from simkit.analysis.escalation.prove.proving_fork import ProvingFork
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.manifest_plan.apply import ManifestWriter, pruned
from simkit.analysis.manifest_plan.consequences import (
    access_rows,
    breaches_of,
    expectation_rows,
    images_of,
    is_watched,
    knows_access,
    missing_rows,
    path_rows,
    places_of_bindings,
    pod_rows,
    secrets_of,
)
from simkit.analysis.manifest_plan.folders import read_manifests
from simkit.analysis.manifest_plan.result import (
    ACTIONS,
    TITLES,
    ManifestPlan,
    ObjectChange,
    PlanRow,
    Section,
    values_withheld,
)
from simkit.analysis.operations.observation import NODES, OperationSandbox, RehearsalCluster
from simkit.analysis.rbac.objects import captured_objects
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rendering import counted
from simkit.analysis.upgrade.removed_resources import without_successor
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.identity import Identity, administrator
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.schema.lifecycle import lifecycle_of
from simkit.schema.releases import minor_of
from simkit.seams.caveats import UNEVALUATED, assumed_answers, name_of_uncalled
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.filenames import KUSTOMIZATION
from simkit.snapshot.sources import Source

_SEVERITIES: Final = {
    "refused": Severity.HIGH,
    "not tried": Severity.MEDIUM,
    "replace": Severity.HIGH,
    "delete": Severity.MEDIUM,
    "change": Severity.LOW,
    "create": Severity.INFO,
}
_SHOWN_FIELDS: Final = 20
_SHOWN_WEBHOOKS: Final = 5
_LONGEST: Final = 500
"""The letters of a message in a line; the objects of a plan have the whole one."""


@about_access()
def plan(
    sandbox: Sandbox,
    manifests: Source | Dump,
    *,
    namespace: str = DEFAULT_NAMESPACE,
    configured: Source | Dump | None = None,
    prune: str = "",
    identity: Identity | None = None,
    expectations: Suite | str | Path | None = None,
    members: Members | None = None,
) -> ManifestPlan:
    """What applying manifests does to a cluster, tried on a fork: nothing is changed.

    Parameters
    ----------
    sandbox
        The cluster.
    manifests
        The manifests: text, paths, objects, or what ``load`` gave for them. The kustomizations and charts of folders
        are rendered by kustomize or kubectl and by helm, which have to be installed for that.
    namespace
        The namespace of objects that name none.
    configured
        The manifests that were applied before, such as those of the main branch. The plan then compares the two, and
        objects that the new manifests no longer have are deleted.
    prune
        A label selector: objects with these labels that ``kubectl apply`` made, and that are in no manifest, are
        deleted, as ``kubectl apply --prune`` does. Or the name of an ApplySet: ``applyset:NAME``.
    identity
        The user who applies; None: an administrator.
    expectations
        Expectations about access, as for ``check``: those that the change breaks are lines of the plan.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    ManifestPlan
        Its sections: objects that are created, changed, replaced and deleted; what is refused, with the words of
        kube-apiserver; warnings; access gained and lost; escalation paths opened, each executed, and closed; broken
        expectations; pods that do not run; disruption budgets that allow no eviction; API versions that the next
        release removes; images and Secrets.

    Raises
    ------
    SimkitError
        For manifests that cannot be read.

    Notes
    -----
    Objects are merged as ``kubectl apply --server-side --force-conflicts`` does. Fields that the manifest no longer
    names are removed if the earlier configuration is known: by ``configured``, managed fields, or the annotation of
    ``kubectl apply``. Controllers, scheduler and kubelets act on a second fork, in which all nodes are simulated.

    Examples
    --------
    >>> from simkit import Cluster
    >>> cluster = Cluster(seed=1)
    >>> made = cluster.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}")
    >>> cluster.plan("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '2'}}")
    Plan: 1 to change
    <BLANKLINE>
    Objects
      change: ConfigMap default/a  (the given text:1)
          data.x: '1' -> '2'
    """
    return _Planner(sandbox, namespace, identity or administrator(), prune, members).plan(
        _read(manifests, sandbox, namespace),
        None if configured is None else _read(configured, sandbox, namespace),
        read_suite(expectations) if isinstance(expectations, str | Path) else expectations,
    )


def _read(source: Source | Dump, sandbox: Sandbox, namespace: str) -> Dump:
    if isinstance(source, Dump):
        return source
    return read_manifests(source, sandbox.snapshot().release, namespace=namespace)


class _Planner:
    """One plan in the making."""

    def __init__(
        self,
        sandbox: Sandbox,
        namespace: str,
        identity: Identity,
        prune: str,
        members: Members | None,
    ) -> None:
        self._namespace, self._identity, self._prune = namespace, identity, prune
        self._members = members
        self._origin = sandbox
        self._before = ProvingFork(sandbox)
        self._notes: list[str] = []

    def plan(self, wanted: Dump, configured: Dump | None, expectations: Suite | None) -> ManifestPlan:
        """Apply, compare and tell."""
        if configured is not None:
            ManifestWriter(self._before, administrator(), namespace=self._namespace).apply(configured.objects)
        self._before.settle()
        after = ProvingFork(self._before)
        writer = ManifestWriter(after, self._identity, namespace=self._namespace)
        applied = zip(writer.apply(wanted.objects), _origins(wanted), strict=True)
        changes = [replace(change, file=file, line=line) for change, (file, line) in applied]
        changes += self._gone(writer, wanted, configured)
        after.settle()
        if writer.unknown_configuration:
            count = counted(len(writer.unknown_configuration), "object")
            self._notes.append(
                f"The earlier configuration of {count} is not known, so fields that the manifests no longer name stay."
            )
        if writer.not_captured:
            names = ", ".join(sorted(writer.not_captured))
            self._notes.append(f"The dump has no {names}, so those of the manifests count as new.")
        if any(values_withheld(obj) for obj in wanted.objects):
            self._notes.append("Secrets of the manifests have no values, so their values were not compared.")
        self._notes += [
            f"{problem.file} was not rendered, so its objects were planned as their files have them; give the folder "
            "instead of the file."
            for problem in wanted.problems
            if problem.what == KUSTOMIZATION
        ]
        self._notes += _uncalled(changes)
        rows = list(self._rows(changes, after, wanted, configured, expectations))
        order = list(TITLES)
        rows.sort(key=lambda row: row.severity, reverse=True)
        rows.sort(key=lambda row: order.index(row.section))
        return ManifestPlan(after.snapshot().release, tuple(changes), tuple(rows), tuple(self._notes))

    def _gone(self, writer: ManifestWriter, wanted: Dump, configured: Dump | None) -> list[ObjectChange]:
        """The objects that are deleted since no manifest has them any more."""
        snapshot = self._before.snapshot()
        kept = set(writer.keys(wanted))
        places = dict(zip(writer.keys(configured), _origins(configured), strict=True)) if configured is not None else {}
        former = places.keys() - kept
        if self._prune:
            former |= set(pruned(snapshot, kept, self._prune))
        catalogue = {one.storage: one for one in catalogue_of(snapshot).stored()}
        there = [
            key
            for key in sorted(former)
            if key.resource in catalogue
            and (key.resource not in snapshot.captured() or stored(snapshot, key) is not None)
        ]
        changes = [writer.delete(catalogue[key.resource], key.namespace, key.name) for key in there]
        found = [places.get(key, ("", None)) for key in there]
        return [replace(change, file=file, line=line) for change, (file, line) in zip(changes, found, strict=True)]

    def _rows(
        self,
        changes: Sequence[ObjectChange],
        after: ProvingFork,
        wanted: Dump,
        configured: Dump | None,
        expectations: Suite | None,
    ) -> Iterator[PlanRow]:
        touched = [one for one in changes if one.action != "unchanged"]
        yield from _object_rows(touched)
        if not touched:
            return
        places = {one.title: (one.file, one.line) for one in touched if one.file}
        old, new = self._before.snapshot(), after.snapshot()
        bound = places_of_bindings(new, places)
        if not knows_access(old):
            self._notes.append(
                "Access and escalation paths were not judged, since no roles and bindings were captured."
            )
        yield from access_rows(old, new, bound)
        yield from missing_rows(old, new, places)
        yield from path_rows(self._before, after, bound, self._members)
        yield from expectation_rows(self._before, after, expectations)
        refused = {number for number, one in enumerate(changes) if one.action in ("refused", "not tried")}
        applied = [obj for number, obj in enumerate(wanted.objects) if number not in refused]
        yield from self._pod_rows(touched, applied, configured, places)
        yield from _version_rows(touched, wanted, new.release)
        yield from _content_rows(touched, old, new)

    def _pod_rows(
        self,
        touched: Sequence[ObjectChange],
        applied: Sequence[Object],
        configured: Dump | None,
        places: dict[str, tuple[str, int | None]],
    ) -> Iterator[PlanRow]:
        """Pods and budgets, if the change concerns them and the cluster can simulate its nodes."""
        if not any(is_watched(one.resource) for one in touched):
            return
        if not hasattr(self._origin, "rehearsal") or not any(
            True for _ in captured_objects(self._before.snapshot(), NODES)
        ):
            self._notes.append("Whether pods run was not judged, since no nodes were captured.")
            return

        def apply(cluster: RehearsalCluster) -> None:
            writer = ManifestWriter(cluster, administrator(), namespace=self._namespace)
            writer.apply(configured.objects if configured is not None else ())
            writer.apply(applied)
            for one in touched:
                if one.action == "delete":
                    writer.delete(catalogue[one.resource], one.namespace, one.name)

        catalogue = {str(one.group_resource): one for one in catalogue_of(self._before.snapshot()).stored()}
        yield from pod_rows(cast("OperationSandbox", self._origin), apply, places)


def _object_rows(touched: Sequence[ObjectChange]) -> Iterator[PlanRow]:
    for one in sorted(touched, key=lambda change: ACTIONS.index(change.action)):
        lines = [_short(one.message)] if one.message else []
        if one.action == "replace":
            lines.append("kubectl apply --force deletes the object and creates it again")
        lines += [str(field) for field in one.fields[:_SHOWN_FIELDS]]
        if len(one.fields) > _SHOWN_FIELDS:
            lines.append(f"and {counted(len(one.fields) - _SHOWN_FIELDS, 'more field')}")
        section: Section = "refused" if one.action in ("refused", "not tried") else "objects"
        detail = "\n".join(lines)
        yield PlanRow(section, one.action, _SEVERITIES[one.action], one.title, detail, one.file, one.line)
        for warning in one.warnings:
            if not assumed_answers([warning]):
                yield PlanRow("warnings", "warning", Severity.LOW, one.title, warning, one.file, one.line)


def _short(message: str) -> str:
    """A message of which Go's way of printing a whole object is left out."""
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"


def _uncalled(touched: Sequence[ObjectChange]) -> Iterator[str]:
    """Notes on the webhooks and policies that kube-apiserver would have asked, if there are any."""
    for warning, words in UNEVALUATED.items():
        unheld = [one for one in touched if warning in one.warnings]
        if unheld:
            yield f"{words} for {counted(len(unheld), 'object')}, and may refuse or change them."
    asked = [one for one in touched if assumed_answers(set(one.warnings) - UNEVALUATED.keys())]
    texts = {text for one in asked for text in one.warnings if text not in UNEVALUATED and assumed_answers([text])}
    names = sorted(map(name_of_uncalled, texts))
    if names:
        told = f"{', '.join(names[:_SHOWN_WEBHOOKS])}{' and more' if len(names) > _SHOWN_WEBHOOKS else ''}"
        objects = counted(len(asked), "object")
        yield f"Admission webhooks were not called for {objects}, and may refuse or change them: {told}."


def _version_rows(touched: Sequence[ObjectChange], wanted: Dump, release: str) -> Iterator[PlanRow]:
    """The versions of manifests that the release after this one no longer serves."""
    later = minor_of(release) + 1
    versions = {(one.file, one.line): one for one in touched if one.file}
    for key, obj in wanted.keyed.items():
        change = versions.get(wanted.origins.get(key, ("", None)))
        life = lifecycle_of(str(obj.get("apiVersion")), str(obj.get("kind")))
        if change is None or life is None or not life.end or minor_of(life.end) > later:
            continue
        word = "is removed" if minor_of(life.end) == later else "was removed"
        instead = f"Use {life.instead}." if life.instead else without_successor(life.kind)
        detail = f"{life.api_version} {word} in {life.end}. {instead}"
        severity = Severity.HIGH if minor_of(life.end) == later else Severity.CRITICAL
        yield PlanRow("versions", "removed", severity, change.title, detail, change.file, change.line)


def _content_rows(touched: Sequence[ObjectChange], before: Snapshot, after: Snapshot) -> Iterator[PlanRow]:
    """Images and Secrets that objects use now and did not before, or the other way round."""
    catalogue = {str(one.group_resource): one for one in catalogue_of(after).stored()}
    for one in touched:
        resource = catalogue.get(one.resource)
        if resource is None or one.action in ("refused", "not tried"):
            continue
        old, new = (stored(some, Key(resource.storage, one.namespace, one.name)) for some in (before, after))
        beyond = breaches_of(new, after.behaviour) - breaches_of(old, before.behaviour)
        for breach in sorted(beyond):
            yield PlanRow("pod security", "added", Severity.HIGH, one.title, breach, one.file, one.line)
        for word, contents in (("image", images_of), ("Secret", secrets_of)):
            had, has = contents(old), contents(new)
            for change, names in (("added", has - had), ("removed", had - has)):
                detail = ", ".join(f"{word} {name}" for name in sorted(names))
                if names:
                    section: Section = "images and secrets"
                    yield PlanRow(section, change, Severity.INFO, one.title, detail, one.file, one.line)


def _origins(manifests: Dump) -> list[tuple[str, int | None]]:
    """File and line of each object, in the order of the objects."""
    return [manifests.origins.get(key, ("", None)) for key in manifests.keyed]

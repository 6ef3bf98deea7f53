"""The effect of a trial's changes on access, as methods of the trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, Binding, key_of
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.audit_log.events import AuditLog
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.prove.answer import ProofAnswer
    from simkit.analysis.rbac.subject import Members
    from simkit.cluster.cluster import Cluster
    from simkit.logic.rbac.binding import Subject
    from simkit.seams.snapshot import Sandbox, Snapshot


class TrialMethods(AnalysisMethods):
    """The part of ``Trial`` that tells what its changes did."""

    before: Cluster
    """The original cluster, with which ``compare`` and ``compare_paths`` compare."""

    if TYPE_CHECKING:  # the cluster has it

        def settle(self) -> int: ...

    def remove_subject(self, subject: Subject | str) -> Sequence[str]:
        """Take a subject out of all bindings, as when somebody leaves; a binding of nobody else is deleted.

        Parameters
        ----------
        subject
            ``user:alice``, ``group:devs`` or ``sa:ns/name``. What a user has by its groups stays.

        Returns
        -------
        Sequence[str]
            The bindings that named it.

        Raises
        ------
        SimkitError
            Where no binding names it.

        Examples
        --------
        >>> import simkit
        >>> trial = simkit.demo().what_if()
        >>> trial.remove_subject("group:oidc:helpdesk")
        ['ClusterRoleBinding pellowick:helpdesk-read-only']
        """
        from simkit.analysis.rbac.objects import display_name
        from simkit.analysis.rbac.subject import parse_subject, text_of

        trial = cast("Cluster", self)
        left = parse_subject(subject).principal
        named: list[str] = []
        for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            for obj in trial.list(str(resource)):
                key = key_of(obj, resource)
                subjects = obj.get("subjects") or ()
                kept = [one for one in subjects if not Binding.of(key, {"subjects": [one]}).binds(left)]
                if len(kept) == len(subjects):
                    continue
                named.append(display_name(key))
                if kept:
                    trial.apply({**obj, "subjects": kept})
                else:
                    trial.delete(str(resource), key.name, key.namespace or None)
        if not named:
            raise SimkitError(f"no binding names {text_of(parse_subject(subject))}")
        return named

    def compare(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        namespace: str | None = None,
    ) -> pd.DataFrame:
        """The access that subjects gained and lost by the change, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        subject, namespace
            As of ``Cluster.compare``.

        Returns
        -------
        DataFrame
            As of ``Cluster.compare``.
        """
        self.settle()
        return super().compare(before=before or self.before, subject=subject, namespace=namespace)

    def refused_requests(self, audit_log: AuditLog, *, before: Snapshot | Sandbox | None = None) -> pd.DataFrame:
        """The requests of an audit log that the change refuses, after the controllers have settled.

        Parameters
        ----------
        audit_log
            What was asked: see ``read_access_requests``.
        before
            What to compare with; None: the cluster that the trial came from.

        Returns
        -------
        DataFrame
            As of ``Cluster.refused_requests``.
        """
        self.settle()
        return super().refused_requests(audit_log, before=before or self.before)

    def no_new_access(
        self, *, before: Snapshot | Sandbox | None = None, within_hops: int = 0, members: Members | None = None
    ) -> ProofAnswer:
        """The proof that the change allows nothing new, or the new requests, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        within_hops, members
            As of ``Cluster.no_new_access``.

        Returns
        -------
        ProofAnswer
            As of ``Cluster.no_new_access``.
        """
        self.settle()
        return super().no_new_access(before=before or self.before, within_hops=within_hops, members=members)

    def compare_paths(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The escalation paths that the change opens and closes, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        goal, members
            As of ``Cluster.compare_paths``.

        Returns
        -------
        DataFrame
            As of ``Cluster.compare_paths``.
        """
        self.settle()
        return super().compare_paths(before=before or self.before, goal=goal, members=members)

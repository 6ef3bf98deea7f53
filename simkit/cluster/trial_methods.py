"""The effect of a trial's changes on access, as methods of the trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, Binding, key_of
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.logic.rbac.binding import Subject


class TrialMethods(AnalysisMethods):
    """The part of ``Trial`` that tells what its changes did."""

    before: Cluster
    """The original cluster, with which its comparisons compare the trial, after its controllers have settled."""

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

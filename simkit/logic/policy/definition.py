"""The part of a policy that validating and mutating ones share: what it matches, its parameters, its failure policy.

k8s.io/apiserver/pkg/admission/plugin/policy/generic/accessor.go, release 1.36.
"""

from __future__ import annotations

from simkit.logic.policy.matching import Constraints
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, name_of


class PolicyDefinition:
    """A policy without its expressions.

    Parameters
    ----------
    obj
        The ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
    behaviour
        That of the server whose policy it is.
    """

    def __init__(self, obj: Object, behaviour: ServedBehaviour) -> None:
        self.object, self.name, self.behaviour = obj, name_of(obj), behaviour
        self.spec: Object = obj.get("spec") or {}
        self.constraints = Constraints(self.spec.get("matchConstraints"))
        self.fails = (self.spec.get("failurePolicy") or "Fail") != "Ignore"
        """True if an expression that cannot be evaluated refuses the write."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def param_kind(self) -> GroupVersionKind | None:
        """The kind of the parameters, if there are any."""
        given = self.spec.get("paramKind")
        if given is None:
            return None
        return GroupVersionKind(*GroupVersion.parse(given.get("apiVersion") or ""), given.get("kind") or "")

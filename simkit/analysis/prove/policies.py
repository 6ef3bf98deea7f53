"""Proofs about admission policies, for all objects that could be created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from simkit.analysis.admission.simulated_writes import POLICY
from simkit.analysis.catalogue import POLICIES, POLICY_BINDINGS, catalogue_of
from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, ProofAnswer
from simkit.analysis.prove.object_claim import ObjectClaims, ObjectCounterexample, Witness
from simkit.analysis.prove.policy import CheckedPolicy, policy_of_expressions
from simkit.analysis.rbac.tables import table
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, name_of
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("case", "policy", "reason", "executed")
_NO_SUCH: Final = "The solver proves that there is no such object."

PolicySource = Object | str
"""A ValidatingAdmissionPolicy, the name of one in the cluster, or a CEL expression about ``object``."""


def implies(
    snapshot: Snapshot,
    first: PolicySource,
    second: PolicySource,
    *,
    resource: str = "",
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that each new object that one policy lets pass is let pass by another one, too.

    Parameters
    ----------
    first, second
        ValidatingAdmissionPolicies, names of some in the cluster, or CEL expressions about ``object``.
    resource
        Whose objects: ``pods``, ``deployments.apps``. It may be left out if a policy names one.
    sandbox
        The cluster on forks of which a counterexample is created, with the policies in force.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with an object that the first lets pass and the second refuses, or UNKNOWN with the reason, such as
        the part of an expression that has no formula.

    Raises
    ------
    SimkitError
        Where z3-solver is not installed (extra ``prove``), an expression does not compile, or no resource is named.
    NotReproduced
        Where the server does not confirm a counterexample, which is a fault of simkit.

    Notes
    -----
    Objects are those that the schema of the kind allows, as they are created, in any namespace. The solver is bounded
    by its own count of steps, so that answers are the same on every machine.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> one, other = "size(object.data) > 2", "size(object.data) > 1"
    >>> options = {"resource": "configmaps"}
    >>> cluster.implies(one, other, **options).verdict, cluster.implies(other, one, **options).verdict
    ('PASS', 'FAIL')
    """
    one, other = _policies(snapshot, [first, second], resource)
    claims = ObjectClaims(snapshot, _resource(resource, [one, other]), sandbox)
    claim = f"Every new object of {claims.resource.resource} that passes {one.name} passes {other.name}"
    witness = claims.witness([one], refusing=other)
    return _refuted(claim, witness, f"passes {one.name}, and is refused by {other.name}", claims)


def contradictions(
    snapshot: Snapshot,
    policies: Iterable[PolicySource] | None = None,
    *,
    resource: str = "",
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that policies do not contradict each other: some new object passes all of them.

    Parameters
    ----------
    policies
        As for ``implies``; None: those of the cluster that are bound.
    resource, sandbox
        As for ``implies``.

    Returns
    -------
    ProofAnswer
        PASS with such an object in ``to_frame()``, FAIL where there is none, or UNKNOWN with the reason.

    Raises
    ------
    SimkitError, NotReproduced
        As ``implies`` does.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.contradictions(["has(object.data)", "!has(object.data)"], resource="configmaps").verdict
    'FAIL'
    """
    known = _policies(snapshot, policies, resource)
    claims = ObjectClaims(snapshot, _resource(resource, known), sandbox)
    claim = f"Some new object of {claims.resource.resource} passes {_listed(known)}"
    witness = claims.witness(known)
    if witness.write is not None:
        shown = ObjectCounterexample(claims.resource.resource, witness.write, "passes", witness.executed)
        return ProofAnswer(claim, PASS, f"One {shown}.", (), table([_row("passes", shown)], COLUMNS))
    if witness.none:
        return ProofAnswer(claim, FAIL, f"Everything is refused. {_NO_SUCH}")
    return ProofAnswer(claim, UNKNOWN, witness.reason)


def admits(
    snapshot: Snapshot,
    constraint: str,
    *,
    policies: Iterable[PolicySource] | None = None,
    resource: str = "pods",
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that policies let no new object pass that violates a constraint.

    Parameters
    ----------
    constraint
        A CEL expression about ``object``.
    policies
        As for ``implies``; None: those of the cluster that are bound.
    resource, sandbox
        As for ``implies``.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with an object that all policies let pass and that violates the constraint, or UNKNOWN.

    Raises
    ------
    SimkitError, NotReproduced
        As ``implies`` does.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> answer = cluster.admits("!has(object.spec.hostNetwork)", policies=["object.spec.containers.size() < 5"])
    >>> answer.verdict, answer.counterexamples[0].executed
    ('FAIL', True)
    """
    known = _policies(snapshot, policies, resource)
    claims = ObjectClaims(snapshot, resource, sandbox)
    claim = f"No new object of {claims.resource.resource} passes {_listed(known)} and violates {constraint}"
    made = policy_of_expressions("the-constraint", [constraint], claims.resource.group_resource)
    witness = claims.witness(known, refusing=CheckedPolicy(made, snapshot))
    return _refuted(claim, witness, f"passes all policies, and violates {constraint}", claims)


def _refuted(claim: str, witness: Witness, reason: str, claims: ObjectClaims) -> ProofAnswer:
    """The answer to a claim that an object would contradict."""
    if witness.write is not None:
        found = ObjectCounterexample(claims.resource.resource, witness.write, reason, witness.executed)
        how = "It was created on forks with the policies in force." if witness.executed else "It was evaluated only."
        why = f"There is an object that {reason}. {how}"
        return ProofAnswer(claim, FAIL, why, (found,), table([_row("counterexample", found)], COLUMNS))
    return ProofAnswer(claim, PASS, _NO_SUCH) if witness.none else ProofAnswer(claim, UNKNOWN, witness.reason)


def _row(case: str, found: ObjectCounterexample) -> tuple[Any, ...]:
    return (case, found.subject, str(found), found.executed)


def _listed(policies: Sequence[CheckedPolicy]) -> str:
    return ", ".join(policy.name for policy in policies) or "the policies (there are none)"


def _policies(snapshot: Snapshot, policies: Iterable[PolicySource] | None, resource: str) -> Sequence[CheckedPolicy]:
    if policies is None:
        return list(_bound(snapshot))
    return [CheckedPolicy(obj, snapshot) for obj in _named(snapshot, policies, resource)]


def _bound(snapshot: Snapshot) -> Iterator[CheckedPolicy]:
    """The policies of a cluster that bindings put in force, once for each binding."""
    stored = {name_of(obj): obj for obj in snapshot.scan(POLICIES)}
    for binding in snapshot.scan(POLICY_BINDINGS):
        spec = binding.get("spec") or {}
        if "Deny" in (spec.get("validationActions") or ()) and spec.get("policyName") in stored:
            yield CheckedPolicy(stored[spec["policyName"]], snapshot, binding)


def _named(snapshot: Snapshot, policies: Iterable[PolicySource], resource: str) -> Iterator[Object]:
    for number, source in enumerate(policies, 1):
        if not isinstance(source, str):
            if source.get("kind") != POLICY:
                raise SimkitError(f"{source.get('kind')} {name_of(source)} is no {POLICY}")
            yield source
            continue
        stored = snapshot.get(POLICIES, source) if POLICIES in snapshot.captured() else None
        if stored is not None:
            yield stored
            continue
        if not resource:
            raise SimkitError(
                f"{source!r} is an expression; say what it is about: --resource pods (in Python, resource='pods')"
            )

        known = catalogue_of(snapshot).lookup(resource)
        yield policy_of_expressions(f"expression-{number}", [source], known.group_resource)


def _resource(resource: str, policies: Sequence[CheckedPolicy]) -> str:
    """The resource that is given, or the first one that a policy names."""
    if resource:
        return resource
    named = (each for policy in policies for each in policy.resources)
    found = next((each for each in named if each.group != "*" and not {"*", "/"} & set(each.resource)), None)
    if found is None:
        raise SimkitError(
            "no policy names a resource; say whose objects it is about: --resource pods (in Python, resource='pods')"
        )
    return f"{found.resource}.{found.group}" if found.group else found.resource

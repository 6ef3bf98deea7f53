"""Proofs about admission policies, for all objects that could be created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from simkit.analysis.catalogue import POLICIES, POLICY_BINDINGS, catalogue_of
from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, ProofAnswer, Verdict
from simkit.analysis.prove.object_claim import ObjectClaims, ObjectCounterexample, Verdicts, Witness
from simkit.analysis.prove.pod_security import LEVELS, controls
from simkit.analysis.prove.policy import CheckedPolicy, policies_of, policy_of_expressions
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("case", "policy", "reason", "executed")
_NO_SUCH: Final = "The solver proves that there is no such object."

PolicySource = Object | str
"""A policy, the name of one in the cluster, a CEL expression about ``object``, or another object with conditions."""


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
        ValidatingAdmissionPolicies, names of some in the cluster, or CEL expressions about ``object``. Of a webhook
        configuration or an AuthorizationConfiguration, the match conditions count: a write passes where they hold.
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
    one, other, claims = _pair(snapshot, first, second, resource, sandbox)
    claim = f"Every new object of {claims.resource.resource} that passes {one.name} passes {other.name}"
    witness = claims.witness(Verdicts((one,), (other,)))
    return _refuted(claim, witness, f"passes {one.name}, and is refused by {other.name}", claims)


def equivalent(
    snapshot: Snapshot,
    first: PolicySource,
    second: PolicySource,
    *,
    resource: str = "",
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that two policies let the same new objects pass.

    Parameters
    ----------
    first, second, resource, sandbox
        As for ``implies``.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with an object that one lets pass and the other refuses, or UNKNOWN with the reason.

    Raises
    ------
    SimkitError, NotReproduced
        As ``implies`` does.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> one, other = "!(has(object.immutable) && object.immutable)", "!has(object.immutable) || !object.immutable"
    >>> cluster.equivalent(one, other, resource="configmaps").verdict
    'PASS'
    """
    one, other, claims = _pair(snapshot, first, second, resource, sandbox)
    claim = f"{one.name} and {other.name} let the same new objects of {claims.resource.resource} pass"
    answers = []
    for left, right in ((one, other), (other, one)):
        reason = f"passes {left.name}, and is refused by {right.name}"
        answers.append(_refuted(claim, claims.witness(Verdicts((left,), (right,))), reason, claims))
    return next((each for verdict in (FAIL, UNKNOWN) for each in answers if each.verdict == verdict), answers[0])


def dead_rules(
    snapshot: Snapshot, policy: PolicySource, *, resource: str = "", sandbox: Sandbox | None = None
) -> ProofAnswer:
    """The proof that each validation of a policy refuses something that the others let pass.

    Parameters
    ----------
    policy, sandbox
        As for ``implies``.
    resource
        Whose objects; left out: those of all resources that the policy names.

    Returns
    -------
    ProofAnswer
        PASS, FAIL where a validation is dead (its number and text are in ``why``), or UNKNOWN with the reason.
        ``to_frame()`` has one row per validation: case (``alive``, ``dead``, ``undecided``), policy, reason, executed.

    Raises
    ------
    SimkitError, NotReproduced
        As ``implies`` does.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.dead_rules("object.metadata.name.startsWith('team-')", resource="configmaps").verdict
    'PASS'
    """
    (known,) = _policies(snapshot, [policy], resource)
    claims = [ObjectClaims(snapshot, each, sandbox, [known]) for each in _resources(resource, known)]
    rows = [_rule_row(known, number, claims) for number in range(len(known.validations))]
    claim = f"Each validation of {known.name} refuses something that the others let pass"
    about = ", ".join(each.resource.resource for each in claims)
    cases = table(rows, COLUMNS)
    verdicts: dict[str, Verdict] = {"dead": FAIL, "undecided": UNKNOWN}
    for case, verdict in verdicts.items():
        found = [reason for row_case, _, reason, _ in rows if row_case == case]
        if found:
            told = "refuses nothing that the others let pass" if case == "dead" else "could not be decided"
            return ProofAnswer(claim, verdict, f"Of {about}, this {told}: {'; '.join(found)}.", (), cases)
    return ProofAnswer(claim, PASS, f"For each of {counted(len(rows), 'validation')} there is an object.", (), cases)


def _rule_row(policy: CheckedPolicy, number: int, claims: Sequence[ObjectClaims]) -> tuple[str, str, str, bool]:
    """The row of a validation: alive if it alone refuses some object of any resource of the policy."""
    label = f"validation {number} ({policy.validations[number].source})"
    reasons = []
    for each in claims:
        witness = each.witness(Verdicts((policy.without(number),), (policy,)))
        if witness.write is not None:
            shown = ObjectCounterexample(each.resource.resource, witness.write, "only this validation refuses it")
            return "alive", policy.name, f"{label}: {shown}", witness.executed
        reasons += [] if witness.none else [f"{each.resource.resource}: {witness.reason}"]
    if reasons:
        return "undecided", policy.name, f"{label}: {'; '.join(reasons)}", False
    return "dead", policy.name, label, False


def _resources(resource: str, policy: CheckedPolicy) -> Sequence[str]:
    """The resource that is given, or all that a policy names; subresources are no objects."""
    named = [each for each in dict.fromkeys(policy.resources) if "/" not in each.resource]
    if not resource and any("*" in (each.group, each.resource) for each in named):
        raise SimkitError(f"{policy.name} is about any resource; say which to look at: resource='pods'")
    return [resource] if resource else [_word(each) for each in named]


def _word(resource: GroupResource) -> str:
    return f"{resource.resource}.{resource.group}" if resource.group else resource.resource


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
    claims = ObjectClaims(snapshot, _resource(resource, known), sandbox, known)
    claim = f"Some new object of {claims.resource.resource} passes {_listed(known)}"
    witness = claims.witness(Verdicts(tuple(known)))
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
        A CEL expression about ``object``, or the pod security level ``baseline`` or ``restricted``, in its newest
        version that the release knows.
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
    claims = ObjectClaims(snapshot, resource, sandbox, known)
    claim = f"No new object of {claims.resource.resource} passes {_listed(known)} and violates {constraint}"
    if constraint in LEVELS and claims.resource.kind != "Pod":
        raise SimkitError(f"the level {constraint} is about pods, not {claims.resource.resource}")
    wanted = controls(constraint, snapshot.behaviour) if constraint in LEVELS else [constraint]
    if wanted is None:
        return ProofAnswer(claim, UNKNOWN, f"The level {constraint} of release {snapshot.release} has no formulas.")
    place, operations, answers = claims.resource.group_resource, [claims.operation], []
    made = (policy_of_expressions("the-constraint", [each], place, operations=operations) for each in wanted)
    groups = [(CheckedPolicy(policy, snapshot),) for policy in made]
    for expression, witness in zip(wanted, claims.witnesses(tuple(known), groups)):
        answer = _refuted(claim, witness, f"passes all policies, and violates {expression}", claims)
        if answer.verdict == FAIL:
            return answer
        answers.append(answer)
    return next((answer for answer in answers if answer.verdict == UNKNOWN), answers[0])


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


def _pair(
    snapshot: Snapshot, first: PolicySource, second: PolicySource, resource: str, sandbox: Sandbox | None
) -> tuple[CheckedPolicy, CheckedPolicy, ObjectClaims]:
    known = _policies(snapshot, [first, second], resource)
    if len(known) != 2:
        raise SimkitError("each side must have the conditions of one webhook or authorizer alone")
    one, other = known
    return one, other, ObjectClaims(snapshot, _resource(resource, [one, other]), sandbox, [one, other])


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
            yield from policies_of(source)
            continue
        stored = snapshot.get(POLICIES, source) if POLICIES in snapshot.captured() else None
        if stored is not None:
            yield stored
            continue
        if not resource:
            raise SimkitError(f"{source!r} is an expression; say whose objects it is about: resource='pods'")

        known = catalogue_of(snapshot).lookup(resource)
        yield policy_of_expressions(f"expression-{number}", [source], known.group_resource)


def _resource(resource: str, policies: Sequence[CheckedPolicy]) -> str:
    """The resource that is given, or the first one that a policy names."""
    if resource:
        return resource
    named = (each for policy in policies for each in policy.resources)
    found = next((each for each in named if each.group != "*" and not {"*", "/"} & set(each.resource)), None)
    if found is None:
        raise SimkitError("no policy names a resource; say whose objects it is about: resource='pods'")
    return _word(found)

"""The claims of ``simkit prove`` about admission policies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.cli.source import cluster_of, opened, paths_of
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.analysis.prove import ProofAnswer
    from simkit.analysis.prove.policies import PolicySource
    from simkit.cluster.cluster import Cluster

CLAIMS: Final = {
    "implies": "objects that pass the first policy pass the second",
    "contradictions": "some object passes all policies",
    "admits": "objects that pass the policies meet --constraint",
}
"""The claims, each with what is proven."""
_KIND: Final = "ValidatingAdmissionPolicy"


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of these claims to the command."""
    group: Any = parser.add_argument_group("claims about policies")
    told = (
        "a file with a ValidatingAdmissionPolicy, the name of one in the cluster, or a CEL expression; may be repeated"
    )
    group.add_argument("--policy", action="append", default=[], metavar="POLICY", help=told)
    constraint = "for admits: a CEL expression about object"
    group.add_argument("--constraint", metavar="EXPRESSION", help=constraint)
    told = "whose objects: pods, deployments.apps (default: what the policies name)"
    group.add_argument("--resource", default="", metavar="RESOURCE", help=told)


def policy_answer(args: argparse.Namespace) -> ProofAnswer:
    """The answer to a claim about policies, on the chosen cluster or on an empty one."""
    if args.words:
        raise SimkitError(f"{args.claim} takes its policies with --policy, not {' '.join(args.words)!r}")
    cluster = _cluster(args)
    policies = [policy for source in args.policy for policy in _read(source, cluster.release)]
    if args.claim == "implies" and len(policies) != 2:
        raise SimkitError("implies is about 2 policies: --policy POLICY")
    if (args.constraint is None) is (args.claim == "admits"):
        raise SimkitError("--constraint EXPRESSION goes with admits, and admits needs it")
    if args.claim == "admits":
        options = {"resource": args.resource} if args.resource else {}
        return cluster.admits(args.constraint, policies=policies or None, **options)
    if args.claim == "contradictions":
        return cluster.contradictions(policies or None, resource=args.resource)
    return cluster.implies(policies[0], policies[1], resource=args.resource)


def _cluster(args: argparse.Namespace) -> Cluster:
    """The chosen cluster; an empty one where none is named."""
    live = args.context is not None or args.kubeconfig is not None
    if paths_of(args) or args.demo or live:
        return cluster_of(opened(args))
    from simkit.cluster.cluster import Cluster

    return Cluster(args.reading_release)


def _read(source: str, release: str) -> Iterator[PolicySource]:
    """The policies in a file; a name or an expression is what it is."""
    if not Path(source).exists():
        yield source
        return
    from simkit.snapshot.load import manifests

    found = [obj for obj in manifests(Path(source), release) if obj.get("kind") == _KIND]
    if not found:
        raise SimkitError(f"{source}: there is no {_KIND}")
    yield from found

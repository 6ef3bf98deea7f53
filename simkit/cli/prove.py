"""``simkit prove``: claims about all requests and objects, each proven, refuted by an executed case, or undecided."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.cli import limits, reports
from simkit.cli.flag_types import number
from simkit.cli.output import VALUES, add_output, write_report, write_rows, write_text, write_value
from simkit.cli.reports import Case, Fault
from simkit.cli.source import add_members, add_source, cluster_of, dump_of, opened, paths_of, read_members
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.analysis.prove import ProofAnswer
    from simkit.analysis.prove.policies import PolicySource
    from simkit.cluster.cluster import Cluster

DESCRIPTION = "Proves claims about all requests or objects, or executes a counterexample on a copy."
EXAMPLES = """\
examples:
  simkit prove no-new-access before.yaml after.yaml
  simkit prove no-new-access main/ branch/ --manifests -o sarif > access.sarif
  simkit prove never get secrets in payments cluster.yaml --except group:platform --except 'sa:kube-system/*'
  simkit prove never cluster-admin cluster.yaml --except group:platform --within-hops 3
  simkit prove always get pods in shop cluster.yaml --by group:on-call
  simkit prove implies --policy new.yaml --policy old.yaml          # the new one denies all that the old one denies
  simkit prove admits cluster.yaml --constraint baseline            # no pod that passes all policies violates it

The answers hold for all requests, also of users, groups, namespaces and resources that do not exist yet. Claims about
policies hold for all objects that could be created, and need z3-solver (pip install "kube-simkit[prove]"). PASS: the
claim holds. FAIL: a counterexample was executed on a copy of the cluster. UNKNOWN: simkit could not decide the claim,
and says why.

Exit code: 0 for PASS, 1 for FAIL and UNKNOWN, 2 for wrong use or unreadable input.
"""
CLAIMS: Final = {
    "implies": "objects that pass the first policy pass the second",
    "contradictions": "some object passes all policies",
    "admits": "objects that pass the policies meet --constraint",
}
"""The claims about admission policies, each with what is proven."""
_KIND: Final = "ValidatingAdmissionPolicy"
_WHAT: Final = {
    "no-new-access": "AFTER allows no request that BEFORE does not allow",
    "never": "nobody has a permission or reaches a goal",
    "always": "somebody has a permission",
    **CLAIMS,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "claim", choices=list(_WHAT), metavar="CLAIM", help="; ".join(f"{name}: {text}" for name, text in _WHAT.items())
    )
    told = "BEFORE AFTER, or a permission or goal: get secrets in payments, get /metrics, cluster-admin; then the dump"
    parser.add_argument("words", nargs="*", metavar="WHAT", help=told)
    parser.add_argument(
        "--except",
        dest="excepted",
        action="append",
        default=[],
        metavar="WHO",
        help="for never: who may (* matches any text)",
    )
    parser.add_argument("--by", action="append", default=[], metavar="WHO", help="for always: one of these subjects")
    parser.add_argument(
        "--within-hops", type=number, default=0, metavar="N", help="also follow N escalation steps (default: none)"
    )
    _add_policy_options(parser)
    add_members(parser)
    add_source(parser)
    add_output(parser, faults=True)
    parser.set_defaults(words_before_path=("words",))


def _add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of claims about policies to the command."""
    group: Any = parser.add_argument_group("claims about policies")
    told = (
        "a file with a ValidatingAdmissionPolicy, the name of one in the cluster, or a CEL expression; may be repeated"
    )
    group.add_argument("--policy", action="append", default=[], metavar="POLICY", help=told)
    constraint = "for admits: a CEL expression about object"
    group.add_argument("--constraint", metavar="EXPRESSION", help=constraint)
    told = "whose objects: pods, deployments.apps (default: what the policies name)"
    group.add_argument("--resource", default="", metavar="RESOURCE", help=told)


def run(args: argparse.Namespace) -> int:
    """Prove, write, and return the exit code."""
    answer = _answer(args)
    limits.limit(answer.caveats)
    _write(answer, args)
    return 0 if answer.passed else 1


def _answer(args: argparse.Namespace) -> ProofAnswer:
    _refuse_options(args)
    if args.claim in CLAIMS:
        return _policy_answer(args)
    dump = opened(args)
    what, members = " ".join(args.words), read_members(args)
    if args.claim == "no-new-access":
        if len(args.words) != 1:
            raise SimkitError("name two dumps: simkit prove no-new-access BEFORE AFTER")
        before, after = cluster_of(dump_of(args.words, args)), cluster_of(dump)
        return after.no_new_access(before=before, within_hops=args.within_hops, members=members)
    if not what:
        raise SimkitError(f"name the permission: simkit prove {args.claim} get secrets in payments -f cluster.yaml")
    cluster = cluster_of(dump)
    if args.claim == "never":
        return cluster.never(what, except_=args.excepted, within_hops=args.within_hops, members=members)
    return cluster.always(what, by=args.by)


def _policy_answer(args: argparse.Namespace) -> ProofAnswer:
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


def _refuse_options(args: argparse.Namespace) -> None:
    """Raise SimkitError for an option that belongs to another claim."""
    for option, value, claims in (
        ("--except", args.excepted, ("never",)),
        ("--by", args.by, ("always",)),
        ("--within-hops", args.within_hops, ("no-new-access", "never")),
        ("--policy", args.policy, tuple(CLAIMS)),
        ("--constraint", args.constraint, ("admits",)),
        ("--resource", args.resource, tuple(CLAIMS)),
    ):
        if value and args.claim not in claims:
            raise SimkitError(f"{option} goes with {' and '.join(claims)}, not with {args.claim}")


def _write(answer: ProofAnswer, args: argparse.Namespace) -> None:
    if args.output in reports.FORMS:
        write_report(args.output, [_case(answer, args)], name="prove")
    elif args.output in VALUES:
        write_value({**answer.to_dict()}, args.output)
    elif args.output in ("table", "markdown"):
        limits.repeat_if_quiet()
        write_text(str(answer), args.output)
    else:
        rows = answer.to_frame()
        columns = ("verdict", "claim", *map(str, rows.columns))
        head = {"verdict": answer.verdict, "claim": answer.claim}
        write_rows(columns, [{**head, **row} for row in rows.to_dict("records")], args.output, empty=str(answer))


def _case(answer: ProofAnswer, args: argparse.Namespace) -> Case:
    """The claim as a case for build servers; each counterexample is a fault."""
    told = [str(each) for each in answer.counterexamples] or [answer.why]
    faults = [] if answer.passed else [Fault(f"{answer.verdict}: {text}", "high", _place(args)) for text in told]
    return Case(f"prove-{args.claim}", answer.claim, "high", faults)


def _place(args: argparse.Namespace) -> str:
    """The file at which a report places what is wrong."""
    return next(iter((*args.policy, *args.dump)), "")

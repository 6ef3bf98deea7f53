"""``simkit least-privilege``: roles that allow what an audit log shows in use, and nothing else."""

from __future__ import annotations

import argparse
from pathlib import Path

from simkit.cli import limits
from simkit.cli.notes import note
from simkit.cli.output import add_output, write_rows
from simkit.cli.source import add_audit_log, add_source, cluster_of, opened, read_audit_log
from simkit.meta.errors import SimkitError
from simkit.meta.whole_file import write_whole

DESCRIPTION = "Proposes, for each subject in an audit log, roles that allow what it used and nothing else."
EXAMPLES = """\
examples:
  simkit least-privilege cluster.yaml --audit-log audit.jsonl.gz
  simkit least-privilege cluster.yaml --audit-log logs/ --subject sa:ci/runner --write roles.yaml --verify
  simkit least-privilege cluster.yaml --audit-log audit.jsonl --unused -o csv

Exit code: 0 when nobody in the log has more than they used (with --unused: nobody at all), 1 when somebody has,
2 for wrong use or unreadable input.
"""
UNUSED = ("verdict", "subject", "scope", "binding", "role", "rule", "unused")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_audit_log(parser, "an audit log of the access in use", required=True)
    parser.add_argument(
        "--subject", "--as", action="append", metavar="WHO", help="only for this subject; may be repeated"
    )
    parser.add_argument(
        "--names",
        choices=("repeated", "always", "never"),
        default="repeated",
        help="when rules are limited to object names: repeated (default) for names that the log has more than once",
    )
    parser.add_argument("--no-reuse", action="store_true", help="propose new roles even if an existing one fits")
    parser.add_argument("--unused", action="store_true", help="list grants that the log does not show in use, instead")
    parser.add_argument(
        "--verify", action="store_true", help="repeat the requests of the log on a copy with the new roles"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the proposed objects as YAML")
    add_source(parser, paths=True)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.least_privilege import least_privilege
    from simkit.analysis.rbac.subject import identity_of, text_of

    log = read_audit_log(args)
    assert log is not None  # the option is required
    dump = opened(args)
    made = least_privilege(dump.snapshot(), log, args.subject, names=args.names, reuse=not args.no_reuse)
    limits.limit(made.usage.limits())
    senders = {identity for identity, _ in (*made.usage.allowed, *made.usage.denied)}
    for subject in made.subjects if args.subject else ():
        wanted = identity_of(subject)
        if not any(one.user == wanted.user if wanted.user else subject.name in one.groups for one in senders):
            note(f"the log has no request of {text_of(subject)}")
    frame = made.unused() if args.unused else made.to_frame()
    rows, shown = frame.to_dict("records"), UNUSED if args.unused else None
    whole = "nobody has more than is in use"
    among = "nobody with allowed requests in the log has more than they used; --unused lists the grants of all subjects"
    write_rows(tuple(frame.columns), rows, args.output, shown=shown, empty=whole if args.unused else among)
    if args.write:
        write_whole(args.write, made.yaml())
    if args.verify:
        replayed = made.verify(cluster_of(dump))
        note(str(replayed))
        if not replayed:
            raise SimkitError("the proposal removes access that is in use")
    return 1 if len(frame) and (args.unused or (frame["before"] > frame["after"]).any()) else 0

"""``simkit what-if``: who gains and loses what by a change, and what it breaks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from simkit.cli import limits
from simkit.cli.diff import write_access
from simkit.cli.notes import note
from simkit.cli.output import add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.questions import SUBJECTS
from simkit.cli.source import (
    add_audit_log,
    add_namespace,
    add_source,
    cluster_of,
    opened,
    read_audit_log,
    warn_of_unknown_namespace,
)
from simkit.meta.errors import SimkitError
from simkit.meta.objects import metadata

if TYPE_CHECKING:
    from simkit.cluster.cluster import Trial

DESCRIPTION = "Deletes or applies objects, or removes a subject, on a copy of the cluster, and compares access."
EXAMPLES = """\
examples:
  simkit what-if delete clusterrolebinding ops-admin cluster.yaml
  simkit what-if delete rolebinding/ci -n payments cluster.yaml --audit-log audit.jsonl
  simkit what-if remove user:alice cluster.yaml           # from all bindings, as when she leaves
  simkit what-if apply change.yaml cluster.yaml
  simkit what-if delete clusterrolebinding ops-admin -f cluster.yaml --show paths

The dump is not changed. --show access lists the permissions that each subject gains and loses (-o wide, csv and json
have a row for each), --show paths the escalation paths that open and close, and --show requests the requests in the
audit log that would be denied. The numbers of all three are printed on standard error.

Exit code: 0 when nobody loses what the audit log shows in use (without a log: anything), 1 when somebody does, 2 for
wrong use or unreadable input.
"""
ACTIONS = ("delete", "apply", "remove")
PARTS = ("access", "paths", "requests")
PATHS = ("change", "subject", "goal", "hops", "primitives", "path")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("action", type=_action, metavar="ACTION", help="delete, apply or remove")
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help="KIND NAME, KIND/NAME, files to apply, or a subject to remove"
    )
    parser.add_argument(
        "--show", choices=PARTS, help="the table to print (default: access; with --audit-log: requests)"
    )
    add_audit_log(parser, "an audit log of the access in use")
    add_namespace(parser, "where the deleted object is (default)", everywhere=argparse.SUPPRESS)
    add_plot(parser)
    add_source(parser)
    add_output(parser)
    parser.set_defaults(words_before_path=("what",))


def _action(text: str) -> str:
    if text not in ACTIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(ACTIONS)}, as in: what-if delete KIND NAME")
    return text


def run(args: argparse.Namespace) -> int:
    """Try the change, and return the exit code."""
    log = read_audit_log(args)
    if args.show == "requests" and log is None:
        raise SimkitError("--show requests needs --audit-log FILE")
    dump = opened(args)
    warn_of_unknown_namespace(dump, args.namespace)
    from simkit.analysis.access.compare import counted_changes
    from simkit.analysis.rendering import counted

    with cluster_of(dump).what_if() as trial:
        _change(trial, args)
    access, paths = trial.compare(each="permission"), trial.compare_paths()
    requests = None if log is None else trial.refused_requests(log)
    if requests is not None:
        limits.limit_as(requests.attrs)
    write_plot(access, args)
    show = args.show or ("access" if requests is None else "requests")
    if show == "access":
        write_access(access.to_dict("records"), args, "no access change")
    else:
        table = paths if requests is None or show == "paths" else requests
        shown = PATHS if show == "paths" else None
        if show == "requests" and len(table) and args.output == "table":
            print("requests of the log that would be denied:\n")
        denied = "0 different requests in the audit log would be denied"
        empty = denied if show == "requests" else f"no {show} change"
        write_rows(tuple(table.columns), table.to_dict("records"), args.output, shown=shown, empty=empty)
    opened_paths, closed = (int((paths["change"] == word).sum()) for word in ("new", "closed"))
    lost = "lost" in set(access["change"])
    note(f"{counted_changes(access['change'])}; {counted(closed, 'escalation path')} closed, {opened_paths:,} new")
    for goal, held in paths[paths["hops_before"] == 0].groupby("goal", sort=False):
        note(f"{counted(len(held), 'subject')} {'loses' if len(held) == 1 else 'lose'} direct access to {goal}")
    if requests is None:
        return 1 if lost else 0
    if len(requests) or show != "requests":
        note(f"{counted(len(requests), 'different request')} in the audit log would be denied")
    return 1 if len(requests) else 0


def _change(trial: Trial, args: argparse.Namespace) -> None:
    """Make the change on the fork."""
    if not args.what:
        raise SimkitError("name the change: delete KIND NAME, apply FILE or remove user:alice")
    if args.action == "remove" or args.what[0].startswith(SUBJECTS):
        for subject in args.what:
            note(f"removed from {', '.join(trial.remove_subject(subject))}")
    elif args.action == "delete":
        kind, *names = args.what
        if "/" in kind:
            kind, _, name = kind.partition("/")
            names = [name, *names]
        if not names:
            raise SimkitError(f"name the {kind} to delete: delete {kind} NAME")
        for name in names:
            left = metadata(trial.delete(kind, name, args.namespace)).get("finalizers")
            if left:
                note(f"{name} is only marked for deletion, and works until its finalizers are gone: {', '.join(left)}")
    else:
        trial.apply([Path(path) for path in args.what])

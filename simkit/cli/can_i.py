"""``simkit can-i``: the decision on a permission of a subject, with the grant or the near misses."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from simkit.cli.limits import limit_as, repeat_if_quiet
from simkit.cli.output import COMPLETE, VALUES, add_output, write_rows, write_value
from simkit.cli.questions import (
    SUBJECTS,
    add_groups,
    add_object_options,
    add_object_words,
    note_remarks,
    settle_words,
    unknown_subject,
)
from simkit.cli.source import add_members, add_namespace, add_source, read, read_members
from simkit.cli.terminal import is_terminal
from simkit.meta.errors import SimkitError

DESCRIPTION = "Answers yes with the binding that grants it, or no with the grants that come closest."
EXAMPLES = """\
examples:
  simkit can-i delete pods --as user:alice --group devs -n payments cluster.yaml
  simkit can-i get secrets db --as sa:ci/runner -n payments -f cluster.yaml
  simkit can-i --list --as sa:ci/runner -n ci cluster.yaml

Exit code: 0 for yes, 1 for no, 2 for wrong use or unreadable input.
"""
LISTED = ("scope", "verbs", "what", "names", "effect", "via_group", "binding", "role")
_SOMETIMES = ("names", "effect", "via_group")
"""Columns that are left out where no row has anything in them."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("verb", nargs="?", default="", metavar="VERB", help="get, list, create, bind, ...")
    add_object_words(parser)
    parser.add_argument("--as", dest="user", default="", metavar="WHO", help="user:alice, sa:ns/name or group:devs")
    parser.add_argument("--subject", dest="user", help=argparse.SUPPRESS)
    add_groups(parser)
    add_source(parser)
    add_namespace(parser, "in this namespace", everywhere="in all namespaces at once (default)")
    add_object_options(parser)
    parser.add_argument("--list", action="store_true", help="list everything the subject can do")
    add_members(parser)
    add_output(parser)
    parser.set_defaults(words_before_path=("name", "resource", "verb"))


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    if not args.user and args.verb.startswith(SUBJECTS):
        args.user, args.verb, args.resource, args.name = args.verb, args.resource, args.name, ""
    subject = args.user or (f"group:{args.groups[0]}" if args.groups else "")
    if not subject:
        raise SimkitError("name the subject: --as user:alice, --as sa:namespace/name or --group devs")
    if args.list:
        return write_permissions(args, subject)
    if not args.verb:
        raise SimkitError("name the permission: a verb and a resource, a verb and --url, or --list")
    return _answer(args, subject)


def _answer(args: argparse.Namespace, subject: str) -> int:
    from simkit.analysis.access.can import can
    from simkit.analysis.rendering import text_lines

    settle_words(args)
    snapshot = read(args, namespace=args.namespace)
    answer = can(
        snapshot,
        subject,
        args.verb,
        args.resource,
        subresource=args.subresource,
        name=args.name,
        namespace=args.namespace,
        url=args.url,
        api_group=args.api_group,
        groups=tuple(args.groups),
        members=read_members(args),
    )
    note_remarks(snapshot, args)
    explained = [line.strip() for line in list(answer.lines())[1:]]
    told = {
        "allowed": answer.allowed,
        "answer": answer.answer,
        "question": answer.question,
        "reason": answer.reason,
        "explanation": explained,
    }
    if args.output in ("table", "wide"):
        repeat_if_quiet()
        print(text_lines(answer.lines()))
    elif args.output in VALUES:
        write_value(told, args.output)
    else:
        write_rows(tuple(told), [{**told, "explanation": "; ".join(explained)}], args.output)
    return 0 if answer else 1


def write_permissions(args: argparse.Namespace, subject: str) -> int:
    """List what a subject may do, and return the exit code."""
    from simkit.analysis.access.permissions import COLUMNS, permissions
    from simkit.analysis.rbac.subject import parse_subject, text_of

    members = dict(read_members(args))
    for group in args.groups:
        members[group] = (*members.get(group, ()), text_of(parse_subject(subject)))
    snapshot = read(args, namespace=args.namespace)
    unknown = unknown_subject(snapshot, subject, args)
    if unknown:
        told = "name its groups with --group, or ask for group:system:authenticated, which is everybody"
        raise SimkitError(f"{unknown} ({told})")
    found = permissions(snapshot, subject, namespace=args.namespace, members=members)
    limit_as(found.attrs)
    rows, empty = found.to_dict("records"), f"{subject} has no permissions"
    if args.output in COMPLETE:
        write_rows(COLUMNS, rows, args.output, empty=empty)
    else:
        listed = _folded(map(_short, rows)) if is_terminal() else list(map(_short, rows))
        columns = [name for name in LISTED if name not in _SOMETIMES or any(row[name] for row in listed)]
        write_rows(columns, listed, args.output, empty=empty)
    return 0 if any(row["effective"] for row in rows) else 1


def _folded(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, those of a grant that differ only in their resources as one."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in LISTED if name != "what")
        if key in found:
            found[key]["what"] += f",{row['what']}"
        else:
            found[key] = row
    return list(found.values())


def _short(row: Any) -> dict[str, Any]:
    """The columns of a row in the default table."""
    from simkit.analysis.rbac.tables import rule_text
    from simkit.logic.rbac.rule import Rule

    rule = Rule((), row["api_groups"], row["resources"], (), row["urls"])
    return {
        **{name: row[name] for name in ("scope", "verbs", "via_group")},
        "effect": "" if row["effective"] else "none where it is bound",
        "what": rule_text(rule).strip() if row["rule"] >= 0 or row["urls"] else "(the role is missing)",
        "names": row["resource_names"],
        "binding": f"{row['binding_kind']} {row['binding']}".strip(),
        "role": f"{row['role_kind']} {row['role']}".strip(),
    }

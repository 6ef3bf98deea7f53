"""``simkit dump``: prints the kubectl commands that dump a cluster, or writes the dump itself."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from simkit.cli.notes import complain, note
from simkit.meta.errors import NoConnection, SimkitError, UnknownResource
from simkit.snapshot.dumping import NEEDED, kubectl_commands

DESCRIPTION = "Prints the kubectl commands that dump a cluster. With --to it writes the dump itself."
EXAMPLES = """\
examples:
  simkit dump                                    # prints the commands
  simkit dump | sh                               # runs them: the files are in the folder dump
  simkit dump --for audit                        # only what `simkit audit` needs
  simkit dump roles rolebindings                 # only these resources
  simkit dump --cloud eks | CLUSTER=prod sh      # exports what EKS, GKE or AKS grants into the folder cloud
  simkit dump --context prod --to dump.json.gz   # writes the dump; needs: pip install "kube-simkit[live]"

Events are left out unless you name them. Secrets are dumped without their values, unless you add --secrets.

Exit code: 0 if everything was written, 1 if the server refused to list a resource, 2 for wrong use or no connection.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "resource", nargs="*", default=[], metavar="RESOURCE", help="dump only these resources (default: all)"
    )
    parser.add_argument(
        "--for",
        dest="command",
        choices=list(NEEDED),
        metavar="COMMAND",
        help=f"dump only what a command needs: {', '.join(NEEDED)}",
    )
    parser.add_argument(
        "--cloud",
        choices=["eks", "gke", "aks"],
        help="print the read-only commands that export what the provider knows of the access",
    )
    parser.add_argument("--secrets", action="store_true", help="keep the values of secrets")
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="write the dump to a file: .json or .yaml, optionally with .gz"
    )
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig (default: the current one)")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")


def run(args: argparse.Namespace) -> int:
    """Print the commands or write the dump, and return the exit code."""
    if args.resource and args.command:
        raise SimkitError("name resources or a command with --for, not both")
    if args.cloud:
        return _print_export(args)
    wanted = NEEDED[args.command] if args.command else tuple(map(_resolved, args.resource))
    if args.to is not None:
        try:
            return _write(args, wanted)
        except NoConnection as error:
            complain(str(error).rstrip("."))
            complain("if kubectl can connect, these commands write the same dump into the folder dump:")
            _print_commands(args, wanted)
            return 2
    _print_commands(args, wanted)
    return 0


def _print_export(args: argparse.Namespace) -> int:
    if args.resource or args.command or args.to or args.secrets or args.context or args.kubeconfig:
        raise SimkitError("--cloud prints commands of its own; give it without resources and other options")
    from simkit.snapshot.cloud.exports import COMMANDS

    print(COMMANDS[args.cloud], end="")
    return 0


def _print_commands(args: argparse.Namespace, wanted: Sequence[str]) -> None:
    flags = [
        f"--{name} {shlex.quote(str(value))}" for name in ("context", "kubeconfig") if (value := getattr(args, name))
    ]
    print(kubectl_commands(wanted, secrets=args.secrets, flags=flags), end="")


def _resolved(word: str) -> str:
    """A resource with its group, as kubectl lists it; an unknown word may name a custom resource."""
    from simkit.schema.catalogue import Catalogue
    from simkit.schema.releases import RELEASES

    try:
        return str(Catalogue.for_release(RELEASES[-1], everything=True).lookup(word).storage)
    except UnknownResource:
        return word


def _write(args: argparse.Namespace, wanted: Sequence[str]) -> int:
    from simkit.cluster.loading import release_of
    from simkit.snapshot.live import LiveCluster
    from simkit.snapshot.load import load
    from simkit.snapshot.save import save

    live = LiveCluster(args.context or "", args.kubeconfig)
    release = release_of(live)
    dump = load(live.pieces(wanted), release=release, secrets=args.secrets)
    save(dump, args.to, server_release=release)
    absent = _absent(args.resource, wanted, {str(each) for each in dump.captured})
    for told in (*dump.lost, *(f"{live.server} has no resource {word}" for word in absent)):
        complain(str(told))
    note(f"wrote {len(dump):,} objects of a cluster at release {release} to {args.to}")
    return 1 if dump.lost or absent else 0


def _absent(words: Sequence[str], wanted: Sequence[str], captured: Collection[str]) -> list[str]:
    """The named resources for which no list came."""
    short = {each.partition(".")[0] for each in captured}
    return [word for word, name in zip(words, wanted) if name not in captured and name not in short]

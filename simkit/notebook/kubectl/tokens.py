"""kubectl create token.

Upstream: k8s.io/kubectl/pkg/cmd/create/create_token.go, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.duration import nanoseconds
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.printing import object_text

_SECOND: Final = 10**9


def token(client: Client, args: Namespace) -> str:
    """A token of a service account: ``create token NAME [--duration=1h] [--audience=NAME]``."""
    names = args.words[1:]
    if len(names) != 1:
        told = f"error: exactly one NAME is required, got {len(names)}"
        raise KubectlError(f"{told}\nSee 'kubectl create token -h' for help and examples")
    spec: dict[str, Any] = {"audiences": args.audience} if args.audience else {}
    if args.duration:
        try:
            spec["expirationSeconds"] = nanoseconds(args.duration) // _SECOND
        except ValueError:
            told = f'error: invalid argument "{args.duration}" for "--duration" flag; next: --duration=1h'
            raise KubectlError(told) from None
    request = {"apiVersion": f"{AUTHENTICATION_GROUP}/v1", "kind": "TokenRequest", "spec": spec}
    path = client.path(client.resource("serviceaccounts"), client.namespace, names[0], "token")
    try:
        answer = client.ask("POST", path, request).object
    except KubectlError as error:
        raise KubectlError(f"error: failed to create token: {error.message}") from None
    return object_text(answer, args.output) if args.output in ("yaml", "json") else f"{answer['status']['token']}\n"

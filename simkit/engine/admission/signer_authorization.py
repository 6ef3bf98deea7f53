"""Authorization of a verb on a signer.

Upstream: plugin/pkg/admission/certificates/util.go, release 1.30.
"""

from __future__ import annotations

from simkit.engine.seams import Authorizer
from simkit.meta.attributes import Attributes
from simkit.meta.domain import CERTIFICATES_GROUP
from simkit.meta.identity import Identity


def is_authorized_for_signer(authorizer: Authorizer, identity: Identity, verb: str, signer: str) -> bool:
    """True if an identity has a verb on a signer: on its name, or on all signers of its domain."""
    domain = signer.split("/")[0]
    return any(_may(authorizer, identity, verb, name) for name in (signer, f"{domain}/*"))


def _may(authorizer: Authorizer, identity: Identity, verb: str, name: str) -> bool:
    ask = Attributes(identity, verb, CERTIFICATES_GROUP, "*", "signers", name=name)
    return authorizer.authorize(ask).allowed

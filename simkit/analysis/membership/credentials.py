"""Group memberships from credentials: organizations of certificates, and a claim of tokens."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.membership.pairs import MembershipTable, Pair, listed, membership_table
from simkit.meta.certificate_errors import unreadable
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"


def members_of_certificates(pem: bytes | str) -> MembershipTable:
    """The members of groups according to client certificates: the common name is the user, each organization a group.

    Parameters
    ----------
    pem
        Certificates one after the other. They are read, not verified.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group.

    Raises
    ------
    SimkitError
        For what is no certificate.
    """
    from cryptography import x509  # loaded with the first certificate: analyses without any run where it is not built

    raw = pem.encode() if isinstance(pem, str) else pem
    try:
        certificates = x509.load_pem_x509_certificates(raw)
    except unreadable() as wrong:
        raise SimkitError(f"these are not certificates: {wrong}") from None
    return membership_table(pair for certificate in certificates for pair in _of_certificate(certificate))


def _of_certificate(certificate: x509.Certificate) -> Iterator[Pair]:
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    for organization in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME):
        for name in names[-1:]:
            yield str(name.value), str(organization.value)


def members_of_kubeconfig(config: Mapping[str, Any]) -> MembershipTable:
    """The members of groups according to the certificates in a kubeconfig."""
    pems = []
    for entry in config.get("users") or ():
        encoded = (entry.get("user") or {}).get("client-certificate-data")
        if encoded:
            pems.append(base64.b64decode(encoded))
    return members_of_certificates(b"\n".join(pems)) if pems else {}


def members_of_tokens(
    tokens: str | Iterable[str],
    *,
    username_claim: str = "sub",
    groups_claim: str = "groups",
    user_prefix: str = "",
    group_prefix: str = "",
) -> MembershipTable:
    """The members of groups according to the claims of identity tokens, which are read and not verified.

    Parameters
    ----------
    tokens
        Tokens in their compact form.
    username_claim, groups_claim, user_prefix, group_prefix
        As the server's flags for its provider have them.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group.

    Raises
    ------
    SimkitError
        For what is no token.
    """
    claims = [_claims(token) for token in ([tokens] if isinstance(tokens, str) else tokens)]
    pairs = [
        (str(each.get(username_claim) or ""), str(group)) for each in claims for group in listed(each.get(groups_claim))
    ]
    return membership_table(pairs, user_prefix=user_prefix, group_prefix=group_prefix)


def _claims(token: str) -> Mapping[str, Any]:
    parts = token.strip().split(".")
    try:
        payload = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, binascii.Error, orjson.JSONDecodeError):
        raise SimkitError("this is not a JWT: it needs three parts, with claims in the second") from None
    if not isinstance(payload, dict):
        raise SimkitError("the claims of the token are not a JSON object")
    return payload

"""Certificate requests of an attacker, and an authority that stands for the cluster's own on a fork."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY: Final = "proof-authority"


@cache
def _key(name: str) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _name(user: str, groups: Sequence[str]) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def certificate_request(user: str, groups: Sequence[str] = ()) -> str:
    """A PKCS#10 request for a user with groups: PEM in base64, as the API takes it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    made = x509.CertificateSigningRequestBuilder().subject_name(_name(user, groups)).sign(_key("user"), hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def _issued(subject: x509.Name, key: Any, now: datetime | None = None) -> x509.CertificateBuilder:
    """An unsigned certificate of the authority, valid for a day."""
    from cryptography import x509

    start = now or datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(_name(AUTHORITY, ()))
    builder = builder.public_key(key).serial_number(x509.random_serial_number())
    return builder.not_valid_before(start).not_valid_after(start + timedelta(days=1))


@cache
def authority() -> str:
    """The authority's own certificate as PEM, as bundles of trust anchors hold them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    builder = _issued(_name(AUTHORITY, ()), _key("authority").public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(_key("authority"), hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def signed(request: str, now: datetime | None = None) -> tuple[str, str, tuple[str, ...]]:
    """A certificate for a request as PEM in base64, with the user and the groups that it names."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID

    asked = x509.load_pem_x509_csr(base64.b64decode(request))
    certificate = _issued(asked.subject, asked.public_key(), now).sign(_key("authority"), hashes.SHA256())
    user = asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1].value
    groups = [str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode(), str(user), tuple(groups)

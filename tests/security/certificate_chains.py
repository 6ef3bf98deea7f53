"""Certificates that sign each other, in the hope that whoever verifies them tries every order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def same_name_chain(length: int) -> tuple[bytes, bytes]:
    """PEM of so many certificates of one name and one key, each signed by all others, and of the key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "eve")])
    now = datetime.now(UTC)
    made = b""
    for number in range(length):
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(number + 1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        )
        made += builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return made, key.private_bytes(serialization.Encoding.PEM, pkcs8, plain)

"""Certificates with their private keys, and the signing of one by another."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Span = tuple[datetime, datetime]
Names = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> KeyPair:
        """The pair in two PEM texts. Raises ValueError if they are not a pair."""
        loaded = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != loaded.public_key():
            raise ValueError("the key does not belong to the certificate")
        return cls(loaded, private)

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        return _key_pem(self.key)

    def covers(self, first: datetime, last: datetime) -> bool:
        """True if the certificate is valid from the first moment to the last."""
        begins, ends = self.span()
        return begins <= first and last <= ends

    def span(self) -> Span:
        """The moments from which and until which the certificate is valid."""
        return self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc

    def issued_by(self, authority: KeyPair) -> bool:
        """True if the authority signed the certificate."""
        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def belongs_to(self, user: str) -> bool:
        """True for the certificate of a user."""
        found = self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return [each.value for each in found] == [user]

    def names_include(self, names: Sequence[str], addresses: Sequence[str]) -> bool:
        """True if the certificate is valid for all of these names and addresses."""
        return self.names().issuperset((*names, *addresses))

    def names(self) -> set[str]:
        """The DNS names and addresses that the certificate is valid for."""
        try:
            found = self.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return set()
        return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}

    def sign_server(self, name: str, names: Names, span: Span) -> KeyPair:
        """A new pair for a server with these DNS names and addresses."""
        dns, addresses = names
        listed: list[x509.GeneralName] = [x509.DNSName(text) for text in dns]
        listed += [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
        builder = _builder(_name(name, []), span).add_extension(x509.SubjectAlternativeName(listed), critical=False)
        return self._sign(builder, ExtendedKeyUsageOID.SERVER_AUTH)

    def sign_client(self, user: str, groups: Sequence[str], span: Span) -> KeyPair:
        """A new pair for a client: the user as common name, the groups as organizations."""
        return self._sign(_builder(_name(user, groups), span), ExtendedKeyUsageOID.CLIENT_AUTH)

    def sign_authority(self, name: str, span: Span) -> KeyPair:
        """A new pair that may sign others."""
        return self._sign(_builder(_name(name, []), span), None)

    def _sign(self, builder: x509.CertificateBuilder, use: x509.ObjectIdentifier | None) -> KeyPair:
        """A new pair for one use; an authority if no use is given."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            builder.issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=use is None, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=use is None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if use is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        return KeyPair(builder.sign(self.key, hashes.SHA256()), key)


def make_authority(name: str, span: Span) -> KeyPair:
    """A new authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name, [])
    certificate = (
        _builder(subject, span)
        .issuer_name(subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def new_key_pem() -> bytes:
    """A new P-256 private key as PEM."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _builder(subject: x509.Name, span: Span) -> x509.CertificateBuilder:
    first, last = span
    builder = x509.CertificateBuilder().subject_name(subject).serial_number(x509.random_serial_number())
    return builder.not_valid_before(first).not_valid_after(last)


def _name(common: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )

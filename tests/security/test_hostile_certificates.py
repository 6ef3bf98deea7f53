"""Certificates and signing requests that were made to harm: malformed, huge, and of two minds about who somebody is."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.x509 import ChainVerifier
from simkit.meta.clock import SimulatedClock, SystemClock
from simkit.meta.domain import label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request
from tests.security.prices import LINEAR, growth
from tests.security.test_certificates import CLIENTS, SPAN, authenticator, shown, who

pytestmark = [
    pytest.mark.filterwarnings("ignore:Attribute's length"),
    pytest.mark.slow,
]
KEY = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
NODE = Identity("system:node:a", ("system:nodes", "system:authenticated"))
NAMES = x509.ObjectIdentifier("2.5.29.17")
Attributes = Sequence[tuple[x509.ObjectIdentifier, str]]
CN, O = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME  # noqa: E741 - as everybody writes them


def name(attributes: Attributes) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, text, _validate=False) for kind, text in attributes])


def request(attributes: Attributes, extensions: Sequence[x509.ExtensionType] = (), key: Any = KEY) -> bytes:
    """A signing request in DER form."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(name(attributes))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.DER)


def pem(der: bytes) -> str:
    """The field of an object with the request."""
    text = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE REQUEST-----\n"
    return base64.b64encode(text).decode()


def sequence(*parts: bytes, tag: int = 0x30) -> bytes:
    """Parts as one value of ASN.1."""
    content = b"".join(parts)
    size = len(content)
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag]) + (bytes([size]) if size < 128 else bytes([0x80 | len(octets)]) + octets) + content


def integer(number: int) -> bytes:
    return sequence(number.to_bytes(number.bit_length() // 8 + 1, "big"), tag=2)


def of_modulus(bits: int, exponent: int) -> bytes:
    """A request with a public key of so many bits; whose it is, nobody knows."""
    key = sequence(integer((1 << bits) - 159), integer(exponent))
    info = sequence(bytes.fromhex("300d06092a864886f70d0101010500"), sequence(b"\0" + key, tag=3))
    body = sequence(integer(0), sequence(), info, sequence(tag=0xA0))
    return sequence(body, bytes.fromhex("300d06092a864886f70d01010b0500"), sequence(b"\0" + b"\1" * (bits // 8), tag=3))


def nested(depth: int) -> bytes:
    found = b"\x05\x00"
    for _ in range(depth):
        found = sequence(found)
    return found


GOOD, BY_RSA = request([(CN, "eve")]), request([(CN, "eve")], key=RSA)
BROKEN = x509.UnrecognizedExtension(NAMES, b"\xff\xff")
ODD_NAME = x509.UnrecognizedExtension(NAMES, bytes.fromhex("3004a3023000"))
REQUESTS: dict[str, bytes] = {
    "nothing": b"",
    "deep": nested(20_000),
    "more behind it": GOOD + b"\0",
    "cut off": GOOD[:-5],
    "another version": GOOD.replace(b"\x02\x01\x00", b"\x02\x01\x01", 1),
    "an unknown curve": GOOD.replace(bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d03017f")),
    "an unknown key": GOOD.replace(bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2a8648ce3d027f")),
    "an unknown signature": GOOD.replace(bytes.fromhex("2a8648ce3d040302"), bytes.fromhex("2a8648ce3d04037f")),
    "signed with MD2": BY_RSA.replace(bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d010102")),
    "signed with MD5": BY_RSA.replace(bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d010104")),
    "signed with PSS": BY_RSA.replace(bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d01010a")),
    "another name": GOOD.replace(b"eve", b"bob"),
    "a name that is no text": GOOD.replace(b"eve", b"\xff\xfe\xff"),
    "an exponent of one": of_modulus(2048, 1),
    "an even exponent": of_modulus(2048, 2),
    "a huge exponent": of_modulus(3072, (1 << 3071) + 1),
    "a huge modulus": of_modulus(1 << 20, 65537),
    "alternative names that are none": request([(CN, "eve")], [BROKEN]),
    "an alternative name of another kind": request([(CN, "eve")], [ODD_NAME]),
}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A cluster in which nodes may ask for client certificates, and get their own."""
    made = Cluster(options=Options(seed=1, clock=SimulatedClock()))
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}]
    rules.append({**rules[0], "resources": ["certificatesigningrequests/selfnodeclient"]})
    meta = {"metadata": {"name": "own-certificates"}}
    made.create({"apiVersion": f"{group}/v1", "kind": "ClusterRole", **meta, "rules": rules})
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "own-certificates"}
    nodes = [{"kind": "Group", "name": "system:nodes", "apiGroup": group}]
    kind = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding"}
    made.create({**kind, **meta, "roleRef": reference, "subjects": nodes})
    return made


def asked(cluster: Cluster, der: bytes, version: str = "v1", identity: Identity | None = None, **spec: Any) -> Any:
    """The answer to a request for a client certificate."""
    usages = ["client auth", "digital signature"]
    spec = {"request": pem(der), "signerName": label("kube-apiserver-client"), "usages": usages, **spec}
    kind = {"apiVersion": f"certificates.k8s.io/{version}", "kind": "CertificateSigningRequest"}
    body = {**kind, "metadata": {"generateName": "a-"}, "spec": spec}
    given = {} if identity is None else {"identity": identity}
    return cluster.perform(Request.of("POST", PATH.replace("v1", version), body), **given)


@pytest.mark.parametrize("name", REQUESTS)
def test_malformed_requests_are_invalid(cluster: Cluster, name: str) -> None:
    """They are refused when they are made, by no error of ours."""
    answer = asked(cluster, REQUESTS[name])
    assert answer.status == 422, answer.object["message"]


@pytest.mark.parametrize("name", REQUESTS)
def test_malformed_requests_without_a_signer_are_invalid(name: str) -> None:
    """So are they in the version that finds the signer by the content."""
    older = _older()
    spec: dict[str, Any] = {"signerName": None}
    assert asked(older, REQUESTS[name], "v1beta1", **spec).status == 422
    for extension in (BROKEN, ODD_NAME):
        broken = request([(CN, "system:node:a"), (O, "system:nodes")], [extension])
        assert asked(older, broken, "v1beta1", **spec).status == 422


_OLDER: list[Cluster] = []


def _older() -> Cluster:
    if not _OLDER:
        _OLDER.append(Cluster(options=Options(release="1.20", seed=1, clock=SimulatedClock())))
    return _OLDER[0]


@pytest.mark.parametrize("other", ["system:node:b", "admin"])
def test_who_has_two_names_is_called_by_the_last_one(cluster: Cluster, other: str) -> None:
    """A node that asks for its own name and another one gets no certificate by which it would be the other."""
    approved = {}
    for names in (("system:node:a",), ("system:node:a", other), (other, "system:node:a")):
        der = request([(O, "system:nodes"), *((CN, one) for one in names)])
        answer = asked(cluster, der, identity=NODE, signerName=label("kube-apiserver-client-kubelet"))
        assert answer.status == 201
        cluster.settle()
        status = cluster.perform(Request.of("GET", f"{PATH}/{answer.object['metadata']['name']}")).object["status"]
        approved[names] = any(each["type"] == "Approved" for each in status.get("conditions") or ())
    assert list(approved.values()) == [True, False, True]


def test_masters_are_refused_however_their_name_is_written(cluster: Cluster) -> None:
    """In any type of text, and beside another name in one part of the subject."""
    texts = (_ASN1Type.UTF8String, _ASN1Type.T61String, _ASN1Type.BMPString, _ASN1Type.UniversalString)
    for kind in (*texts, _ASN1Type.IA5String, _ASN1Type.PrintableString):
        group = x509.NameAttribute(O, "system:masters", _type=kind, _validate=False)
        user = x509.NameAttribute(CN, "eve")
        for subject in (x509.Name([user, group]), x509.Name([x509.RelativeDistinguishedName([user, group])])):
            der = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(KEY, hashes.SHA256())
            assert asked(cluster, der.public_bytes(Encoding.DER)).status == 403


PRICES: dict[str, tuple[Callable[[int], bytes], int]] = {
    "organizations": (lambda n: request([(CN, "eve"), *((O, f"g{at}") for at in range(n))]), 500),
    "letters of a name": (lambda n: request([(CN, "a" * n)]), 30_000),
    "alternative names": (
        lambda n: request([], [x509.SubjectAlternativeName([x509.DNSName(f"{at}.x") for at in range(n)])]),
        1000,
    ),
    "extensions": (
        lambda n: request([], [_extension(at) for at in range(n)]),
        500,
    ),
    "depth": (nested, 2000),
    "bits of a modulus": (lambda n: of_modulus(n, 65537), 1 << 19),
}


def _extension(number: int) -> x509.UnrecognizedExtension:
    return x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.3.{number}"), b"\5\0")


@pytest.mark.parametrize("part", PRICES)
def test_twice_the_request_costs_about_twice_as_much(cluster: Cluster, part: str) -> None:
    """Whatever it has many of."""
    make, size = PRICES[part]
    assert growth(lambda der: asked(cluster, der), make, size) < LINEAR


# Certificates that a trusted authority signed


def leaf(attributes: Attributes) -> bytes:
    client = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = x509.CertificateBuilder(CLIENTS.certificate.subject, name(attributes), KEY.public_key(), 7)
    builder = builder.not_valid_before(SPAN[0]).not_valid_after(SPAN[1]).add_extension(client, critical=False)
    return builder.sign(CLIENTS.key, hashes.SHA256()).public_bytes(Encoding.DER)


def signed_anew(certificate: bytes, old: bytes, new: bytes) -> bytes:
    """A certificate with other bytes, and a signature that is good."""
    body = x509.load_der_x509_certificate(certificate).tbs_certificate_bytes
    assert old in body
    key = CLIENTS.key
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    body = body.replace(old, new)
    signature = sequence(b"\0" + key.sign(body, ec.ECDSA(hashes.SHA256())), tag=3)
    return sequence(body, bytes.fromhex("300a06082a8648ce3d040302"), signature)


def seen(*chain: bytes) -> Any:
    return who(authenticator(), Credentials(certificates=chain))


SUBJECT = b"\x0c\x0cevexevexevex"
ODD_TYPES = {
    "text in UTF-8 that is none": b"\x0c\x0c" + b"\xff" * 12,
    "a text of surrogates": b"\x1e\x0c" + b"\xd8\x00" * 6,
    "a text beyond Unicode": b"\x1c\x0c" + b"\xff" * 12,
    "a text of another time": b"\x14\x0c" + b"\xff" * 12,
    "a number": b"\x02\x0cevexevexevex",
    "a sequence": b"\x30\x0cevexevexevex",
    "bits": b"\x03\x0c\0evexevexeve",
    "octets": b"\x04\x0c" + b"\xff" * 12,
}


@pytest.mark.parametrize("kind", ODD_TYPES)
def test_a_subject_that_is_no_text_is_refused(kind: str) -> None:
    """Also where a trusted authority signed it: 401, and no error of ours."""
    assert seen(signed_anew(leaf([(CN, "evexevexevex")]), SUBJECT, SUBJECT)) == (
        "evexevexevex",
        ("system:authenticated",),
    )
    assert seen(signed_anew(leaf([(CN, "evexevexevex")]), SUBJECT, ODD_TYPES[kind])) == 401


@pytest.mark.parametrize("text", ["admin\0x", "\x1b[2J\r\n", "a" * 60_000, " "])
def test_a_common_name_is_taken_as_it_is(text: str) -> None:
    """It ends at no NUL, and nothing of it is left out."""
    assert seen(leaf([(CN, text)])) == (text, ("system:authenticated",))


def test_who_a_certificate_is_for() -> None:
    """The last of several names; nobody without one; each organization in its order, and as often."""
    assert seen(leaf([(CN, "a"), (CN, "b"), (O, "g"), (O, "g")])) == ("b", ("g", "g", "system:authenticated"))
    assert seen(leaf([(O, "system:masters")])) == 401
    assert seen(*[leaf([(CN, "a")])] * 500) == ("a", ("system:authenticated",))


def test_a_bundle_with_a_certificate_that_cannot_be_read() -> None:
    """It is told as a bundle that is none, whatever the library calls the error."""
    body = CLIENTS.certificate.public_bytes(Encoding.DER).replace(bytes.fromhex("a003020102"), b"\xa0\x03\x02\x01\x09")
    text = b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(body) + b"-----END CERTIFICATE-----\n"
    with pytest.raises(SimkitError, match="cannot be read"):
        ChainVerifier(text, SystemClock()).trust(text)
    assert who(authenticator(), shown(CLIENTS.sign_client("eve", (), SPAN))) == ("eve", ("system:authenticated",))

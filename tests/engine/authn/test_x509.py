"""Client certificates, their chains, and proxies that speak for others."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from simkit.engine.authn.union import RequestHeaders
from simkit.engine.authn.x509 import ClientCertificates
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from tests.releases import BASE

START = datetime(2024, 4, 17, tzinfo=UTC)
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
Made = tuple[x509.Certificate, Key]


def make(
    common: str,
    issuer: Made | None = None,
    *,
    groups: Sequence[str] = (),
    uids: Sequence[str] = (),
    days: tuple[float, float] = (-1, 10),
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = (),
    key: Key | None = None,
) -> Made:
    """A certificate and its key, signed by the issuer or by itself."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes += [x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else []
    attributes += [x509.NameAttribute(UID, uid) for uid in uids]
    name = x509.Name(attributes)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer[0].subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(START + timedelta(days=days[0]))
        .not_valid_after(START + timedelta(days=days[1]))
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def constraints(ca: bool = True, path_length: int | None = None) -> tuple[x509.ExtensionType, bool]:
    return x509.BasicConstraints(ca=ca, path_length=path_length), True


def uses(*oids: x509.ObjectIdentifier) -> tuple[x509.ExtensionType, bool]:
    return x509.ExtendedKeyUsage(oids), False


def pem(*certificates: Made) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate, _ in certificates)


def chain(*certificates: Made) -> Credentials:
    return Credentials(certificates=tuple(certificate.public_bytes(Encoding.DER) for certificate, _ in certificates))


CA = make("root", days=(-100, 100), extensions=[constraints()])


def judged(credentials: Credentials, trusted: bytes, clock: SimulatedClock | None = None) -> Identity | None:
    return ClientCertificates(BASE, trusted, clock or SimulatedClock(START)).authenticate(credentials)


def test_names_of_the_subject() -> None:
    """The common name is the user, the organizations are the groups, in order."""
    leaf = make("ann", CA, groups=["devs", "ops"], extensions=[uses(ExtendedKeyUsageOID.CLIENT_AUTH)])
    assert judged(chain(leaf), pem(CA)) == Identity("ann", ("devs", "ops"))


def test_no_certificate_and_no_name() -> None:
    """Without a certificate, or without a common name, it is not this authenticator's business."""
    assert judged(Credentials(bearer="x"), pem(CA)) is None
    assert judged(chain(make("", CA, groups=["devs"])), pem(CA)) is None


def test_rsa_keys() -> None:
    """Authorities and clients may have RSA keys."""
    root = make("root", key=rsa.generate_private_key(65537, 2048), extensions=[constraints()])
    assert judged(chain(make("ann", root)), pem(root)) == Identity("ann")


def refused(credentials: Credentials, trusted: bytes, because: str, clock: SimulatedClock | None = None) -> bool:
    """True if it is a 401 for this reason."""
    with pytest.raises(StatusError) as caught:
        judged(credentials, trusted, clock)
    assert caught.value.code == 401
    assert because in str(caught.value.__cause__)
    return True


def test_strangers() -> None:
    """A certificate of another authority is 401, also where that authority has the same name."""
    namesake = make("root", extensions=[constraints()])
    assert refused(chain(make("ann", namesake)), pem(CA), "unknown authority")
    assert refused(chain(make("ann")), pem(CA), "unknown authority")
    assert refused(Credentials(certificates=(b"nonsense",)), pem(CA), "cannot be read")


def test_the_injected_clock_decides() -> None:
    """A certificate is good on the cluster's clock, whatever the machine's says, and ends on it."""
    clock = SimulatedClock(START)
    authenticator = ClientCertificates(BASE, pem(CA), clock)
    credentials = chain(make("ann", CA, days=(-1, 10)))
    assert authenticator.authenticate(credentials) == Identity("ann")
    clock.advance(days=9)
    assert authenticator.authenticate(credentials) == Identity("ann")
    clock.advance(days=2)
    with pytest.raises(StatusError):
        authenticator.authenticate(credentials)
    assert refused(chain(make("ann", CA, days=(1, 2))), pem(CA), "not yet valid")


def test_an_authority_that_ended() -> None:
    """A leaf does not outlive its authority, even when the chain was verified before."""
    root = make("root", days=(-1, 3), extensions=[constraints()])
    clock = SimulatedClock(START)
    authenticator = ClientCertificates(BASE, pem(root), clock)
    credentials = chain(make("ann", root, days=(-1, 10)))
    assert authenticator.authenticate(credentials)
    clock.advance(days=4)
    with pytest.raises(StatusError):
        authenticator.authenticate(credentials)


def test_intermediates() -> None:
    """A path may lead through authorities that the client sent, in any order, as long as each may sign."""
    upper = make("upper", CA, extensions=[constraints()])
    lower = make("lower", upper, extensions=[constraints(path_length=0)])
    leaf = make("ann", lower)
    assert judged(chain(leaf, lower, upper), pem(CA)) == Identity("ann")
    assert judged(chain(leaf, upper, CA, lower), pem(CA)) == Identity("ann")
    assert judged(chain(leaf), pem(lower)) == Identity("ann")
    assert refused(chain(leaf, lower), pem(CA), "unknown authority")


def test_certificates_that_may_sign() -> None:
    """A leaf, an authority below its depth, and a key not meant for signing sign nothing."""
    leaf = make("mallory", CA)
    assert refused(chain(make("ann", leaf), leaf), pem(CA), "not a certificate authority")
    upper = make("upper", CA, extensions=[constraints(path_length=0)])
    lower = make("lower", upper, extensions=[constraints()])
    assert refused(chain(make("ann", lower), lower, upper), pem(CA), "path length")
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    silent = make("silent", CA, extensions=[constraints(), (usage, True)])
    assert refused(chain(make("ann", silent), silent), pem(CA), "may not sign")


def first_version(common: str, issuer: Made | None = None) -> Made:
    """A certificate of version 1, which has no extensions: one of version 3 without them, signed anew."""

    def der(tag: int, content: bytes) -> bytes:
        size = len(content)
        return (
            bytes([tag, *([size] if size < 128 else [0x81, size] if size < 256 else [0x82, *divmod(size, 256)])])
            + content
        )

    made, key = make(common, issuer, days=(-100, 100))
    signer = issuer[1] if issuer else key
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    whole = made.tbs_certificate_bytes
    fields = whole[4 if whole[1] == 0x82 else 3 :].removeprefix(b"\xa0\x03\x02\x01\x02")
    signed = der(0x30, fields)
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")  # ecdsa-with-SHA256
    signature = der(0x03, b"\x00" + signer.sign(signed, ec.ECDSA(hashes.SHA256())))
    return x509.load_der_x509_certificate(der(0x30, signed + algorithm + signature)), key


def test_authorities_of_version_1() -> None:
    """A trusted root of version 1 vouches for clients, as in Go; an authority between that is of version 1 does not."""
    root = first_version("old root")
    assert root[0].version is x509.Version.v1
    assert judged(chain(make("ann", root)), pem(root)) == Identity("ann")
    between = make("between", root, extensions=[constraints()])
    assert judged(chain(make("ann", between), between), pem(root)) == Identity("ann")
    old = first_version("old", CA)
    assert refused(chain(make("ann", old), old), pem(CA), "not a certificate authority")
    assert refused(chain(make("ann", make("root"))), pem(CA), "unknown authority")


def test_the_verifier_of_the_library_refuses_version_1() -> None:
    """So chains are verified by a path builder of our own: kube-apiserver accepts what ``openssl x509 -req`` makes."""
    root = first_version("old root")
    for leaf, trusted in ((make("ann", root), root), (first_version("ann", CA), CA)):
        anything = verification.ExtensionPolicy.permit_all()
        authority = anything.require_present(x509.BasicConstraints, verification.Criticality.AGNOSTIC, None)
        builder = verification.PolicyBuilder().store(verification.Store([trusted[0]])).time(START)
        verifier = builder.extension_policies(ca_policy=authority, ee_policy=anything).build_client_verifier()
        with pytest.raises(verification.VerificationError, match="X509v3"):
            verifier.verify(leaf[0], [])
        assert judged(chain(leaf), pem(trusted)) == Identity("ann")


def test_trusted_roots_of_version_3_say_that_they_may_sign() -> None:
    """A root of version 3 without basic constraints, or with ones that say no, vouches for nobody."""
    for extensions in ([], [constraints(ca=False)]):
        root = make("root", extensions=extensions)
        assert refused(chain(make("ann", root)), pem(root), "not a certificate authority")


def test_uses() -> None:
    """A certificate made for servers only is no client's; one for any use is."""
    assert refused(
        chain(make("ann", CA, extensions=[uses(ExtendedKeyUsageOID.SERVER_AUTH)])), pem(CA), "incompatible key usage"
    )
    anything = make("ann", CA, extensions=[uses(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)])
    assert judged(chain(anything), pem(CA)) == Identity("ann")
    servers = make("servers", CA, extensions=[constraints(), uses(ExtendedKeyUsageOID.SERVER_AUTH)])
    assert refused(chain(make("ann", servers), servers), pem(CA), "incompatible key usage")


def test_certificates_that_are_not_understood() -> None:
    """Unknown critical extensions are refused, others ignored; constrained names are refused where there are names."""
    strange = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
    assert judged(chain(make("ann", CA, extensions=[(strange, False)])), pem(CA)) == Identity("ann")
    assert refused(chain(make("ann", CA, extensions=[(strange, True)])), pem(CA), "unhandled critical extension")
    names = x509.NameConstraints([x509.DNSName("example.com")], None)
    root = make("root", extensions=[constraints(), (names, True)])
    assert judged(chain(make("ann", root)), pem(root)) == Identity("ann")
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    assert refused(chain(make("ann", root, extensions=[(address, False)])), pem(root), "constrains names")


def test_loops_end() -> None:
    """Authorities that signed each other are no path and no endless search."""
    first_key, second_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    first = make("first", key=first_key, extensions=[constraints()])
    second = make("second", first, key=second_key, extensions=[constraints()])
    crossed = make("first", second, key=first_key, extensions=[constraints()])
    assert refused(chain(make("ann", second), second, crossed), pem(CA), "unknown authority")


def test_a_bundle_without_certificates() -> None:
    """Authorities that are none are wrong use, said at the start."""
    with pytest.raises(SimkitError, match="no certificate in PEM form"):
        ClientCertificates(BASE, b"nonsense", SimulatedClock())


def proxied(names: Sequence[str] = (), **headers: Sequence[str]) -> Identity | None:
    proxy = make("proxy", CA)
    credentials = chain(proxy)
    named = {name.replace("_", "-"): values for name, values in headers.items()}
    authenticator = RequestHeaders(pem(CA), SimulatedClock(START), allowed_names=names)
    return authenticator.authenticate(Credentials(certificates=credentials.certificates, headers=named))


def test_a_proxy_states_an_identity() -> None:
    """A trusted proxy's headers give user, groups and extra, whose keys are percent-decoded."""
    identity = proxied(
        x_remote_user=("ann",), x_remote_group=("a", "b"), **{"x-remote-extra-acme.com%2fteam": ("x", "y")}
    )
    assert identity == Identity("ann", ("a", "b"), extra={"acme.com/team": ("x", "y")})
    assert identity is not None
    assert identity.extra == {"acme.com/team": ("x", "y")}


def test_names_of_trusted_proxies() -> None:
    """Without a user header there is nothing to say; another name, or another authority, is refused."""
    assert proxied() is None
    assert proxied(["proxy"], x_remote_user=("ann",)) == Identity("ann")
    with pytest.raises(StatusError):
        proxied(["other"], x_remote_user=("ann",))
    authenticator = RequestHeaders(pem(CA), SimulatedClock(START))
    headers = {"x-remote-user": ("ann",)}
    assert authenticator.authenticate(Credentials(headers=headers)) is None
    stranger = chain(make("proxy", make("other", extensions=[constraints()])))
    with pytest.raises(StatusError):
        authenticator.authenticate(Credentials(certificates=stranger.certificates, headers=headers))


def test_a_chain_of_equal_names_and_keys_is_given_up() -> None:
    """Of certificates that all may have issued each other, at most a hundred signatures are checked for one chain."""
    root, shared = make("root", extensions=[constraints()]), ec.generate_private_key(ec.SECP256R1())
    loop = [make("loop", extensions=[constraints()], key=shared) for _ in range(12)]
    offered = chain(make("ann", loop[0]), *loop)
    assert refused(offered, pem(root), "signature check attempts limit reached")


def test_a_verified_chain_is_kept_until_a_certificate_begins_or_ends() -> None:
    """A refusal is remembered, and forgotten at the moment at which the answer changes."""
    clock, root = SimulatedClock(START), make("root", days=(-30, 30), extensions=[constraints()])
    authenticator, offered = ClientCertificates(BASE, pem(root), clock), chain(make("ann", root, days=(1, 2)))
    for _ in range(2):
        with pytest.raises(StatusError):
            authenticator.authenticate(offered)
    clock.advance(days=1)
    assert authenticator.authenticate(offered) == Identity("ann")
    clock.advance(days=1, seconds=1)
    with pytest.raises(StatusError):
        authenticator.authenticate(offered)


def user_at(minor: int, made: Made) -> Identity | None:
    return ClientCertificates(ServedBehaviour(minor), pem(CA), SimulatedClock(START)).authenticate(chain(made))


def test_the_subject_of_a_certificate_has_a_uid() -> None:
    """Releases from 1.33 on read it, and those from 1.32 on tell the digest of the certificate."""
    made = make("cat", CA, uids=["u-1"])
    digest = made[0].fingerprint(hashes.SHA256()).hex()
    extra = {"authentication.kubernetes.io/credential-id": (f"X509SHA256={digest}",)}
    assert user_at(36, made) == Identity("cat", (), "u-1", extra)
    assert user_at(30, made) == Identity("cat")
    none = user_at(36, make("cat", CA))
    assert none is not None
    assert none.uid == ""


def test_a_certificate_with_several_uids_is_refused() -> None:
    """Releases before 1.33 do not look at them."""
    made = make("cat", CA, uids=["u-1", "u-2"])
    assert user_at(30, made) == Identity("cat")
    with pytest.raises(StatusError):
        user_at(36, made)


def test_a_proxy_names_the_uid_of_a_user() -> None:
    """In the first of the headers that has one."""
    authenticator = RequestHeaders(pem(CA), SimulatedClock(START), uid_headers=("X-Uid", "X-Remote-Uid"))
    credentials = chain(make("proxy", CA))
    headers = {"x-remote-user": ("ann",), "x-remote-uid": ("u-1",)}
    assert authenticator.authenticate(Credentials(headers=headers, certificates=credentials.certificates)) == Identity(
        "ann", (), "u-1"
    )

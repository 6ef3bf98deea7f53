"""What clients write into kinds that are off by default, and into fields whose features are."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtensionOID

from simkit.kinds.coordination import precedence
from simkit.kinds.internal import STRATEGIES
from simkit.kinds.parts.certificates import validate_chain
from simkit.meta.errors import TOLD
from simkit.meta.wording import told as worded
from simkit.schema.catalogue import Catalogue
from simkit.schema.disabled_fields import FieldGates
from simkit.schema.feature_gates import parse_feature_gates
from tests.releases import BASE
from tests.security.prices import LINEAR, growth

KEY = generate_private_key(SECP256R1())
SPEC = {
    "pkixPublicKey": base64.b64encode(
        KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ).decode(),
    "maxExpirationSeconds": 86400,
}


def chain(begin: datetime, end: datetime, *extensions: x509.ExtensionType) -> str:
    """A certificate for the key in PEM."""
    name = x509.Name([])
    made = x509.CertificateBuilder(name, name, KEY.public_key(), 7, begin, end)
    for extension in extensions:
        made = made.add_extension(extension, critical=False)
    return made.sign(KEY, SHA256()).public_bytes(Encoding.PEM).decode()


def test_defaults_of_fields_without_a_feature_cost_what_the_object_has() -> None:
    """They are taken away in one pass, however many there are."""
    catalogue, gates = Catalogue.for_release("1.30"), FieldGates("1.30", parse_feature_gates({}).values)
    pods = catalogue.lookup("pods")
    fields = gates.of(catalogue.schema(pods.gvk))

    def pod(count: int) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": f"c{number}", "resizePolicy": []} for number in range(count)]}}

    bare = {"spec": {"containers": [{"name": "c0"}, {"name": "c1"}]}}
    kept = {"spec": {"containers": [{"name": "c0", "resizePolicy": []}, {"name": "c1"}]}}
    assert fields.without_added(pod(2), fields.places(bare)) == bare
    assert fields.without_added(pod(2), fields.places(kept)) == kept
    assert growth(lambda obj: fields.without_added(obj, ()), pod, 200) < LINEAR


def test_errors_that_show_a_whole_list_each_are_bounded() -> None:
    """Of many servers and of one alike: what would not be told any more is not put together."""
    validate = (STRATEGIES["StorageVersion"].subresources or {})["status"].validate

    def letters(servers: int, versions: int) -> int:
        decodable = [f"v{number}" for number in range(versions)]
        server = {"encodingVersion": "v1", "decodableVersions": decodable, "servedVersions": ["w"] * versions}
        told = [{**server, "apiServerID": f"s{number}"} for number in range(servers)]
        errors = validate(BASE, {"status": {"storageVersions": told}}, None)
        assert sum("served version" in worded(error.detail, BASE) for error in errors) == servers * versions
        return sum(len(worded(error.detail, BASE)) for error in errors)

    assert letters(1, 3_000) < 3 * TOLD
    assert letters(100, 300) < 4 * TOLD


@pytest.mark.parametrize("text", ["9" * 5000 + ".0.0", "1.0.0-" + "9" * 5000, "18446744073709551616.0.0"])
def test_numbers_of_versions_have_64_bits(text: str) -> None:
    """Longer ones make no version."""
    assert precedence(text) is None
    assert precedence("18446744073709551615.0.0") is not None


def test_a_certificate_whose_extensions_cannot_be_read() -> None:
    """It does not parse, as in Go, which reads them all at once."""
    now = datetime.now(UTC).replace(microsecond=0)
    odd = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x00\xff")
    status = {"certificateChain": chain(now, now + timedelta(days=1), odd)}
    assert [worded(error.detail, BASE) for error in validate_chain(SPEC, status)] == [
        "leaf certificate does not parse as valid X.509"
    ]


def test_times_at_the_end_of_all_times() -> None:
    """They are compared without going beyond it."""
    begin, end = datetime(9999, 12, 31, 22, 59, 59, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    told = {"notBefore": begin, "notAfter": end, "beginRefreshAt": end}
    status = {name: moment.strftime("%Y-%m-%dT%H:%M:%SZ") for name, moment in told.items()}
    [error] = validate_chain(SPEC, {**status, "certificateChain": chain(begin, end)})
    assert worded(error.detail, BASE) == "must be at least 10 minutes before status.notAfter"
    early = {**status, "notBefore": status["notAfter"], "certificateChain": chain(begin, end)}
    assert [error.field for error in validate_chain(SPEC, early)] == ["status.notBefore"]

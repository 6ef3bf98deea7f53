"""Certificates that a server makes for itself: kept, renewed, private."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from cryptography import x509

from simkit.engine.authn.x509 import ClientCertificates
from simkit.engine.http import certificates
from simkit.engine.http.certificates import CertificateFiles, default_folder, ensure_certificates
from simkit.engine.http.keypair import KeyPair
from simkit.meta.clock import SimulatedClock, SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.whole_file import write_whole
from tests.releases import BASE


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def der(path: Path) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(Encoding.DER)


def test_made_once(tmp_path: Path) -> None:
    """Certificates are used again; another bind address renews the serving certificate alone."""
    folder = tmp_path / "a" / "b"
    ensure_certificates(folder)
    before = contents(folder)
    ensure_certificates(folder)
    assert contents(folder) == before
    ensure_certificates(folder, hosts=["192.0.2.7", "box.example"])
    changed = {name for name, content in contents(folder).items() if before[name] != content}
    assert changed == {"apiserver.crt", "apiserver.key", certificates.NAME}


def test_names_of_the_serving_certificate(tmp_path: Path) -> None:
    """The server can be reached by its usual names, on loopback, and where it is bound."""
    made = ensure_certificates(tmp_path, hosts=["192.0.2.7"])
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "kubernetes", "kubernetes.default.svc.cluster.local"} <= set(
        names.get_values_for_type(x509.DNSName)
    )
    assert {"127.0.0.1", "::1", "192.0.2.7"} <= set(map(str, names.get_values_for_type(x509.IPAddress)))


def test_keys_are_private(tmp_path: Path) -> None:
    """Keys, and the folder that is made for them, are for their owner alone."""
    folder = tmp_path / "made"
    ensure_certificates(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.glob("*.key")} == {0o600}
    assert not list(folder.glob(".*.*.*"))


@pytest.mark.parametrize("clock", [SystemClock(), SimulatedClock(0), SimulatedClock(datetime(2160, 1, 1, tzinfo=UTC))])
def test_the_administrator_is_known_on_any_clock(tmp_path: Path, clock: SystemClock | SimulatedClock) -> None:
    """The administrator's certificate is good on the cluster's clock, wherever that stands."""
    made = ensure_certificates(tmp_path, clock=clock)
    before = contents(tmp_path)
    assert made == ensure_certificates(tmp_path, clock=clock)
    assert contents(tmp_path) == before
    authenticator = ClientCertificates(BASE, made.authority.read_bytes(), clock)
    identity = authenticator.authenticate(Credentials(certificates=(der(made.admin_certificate),)))
    assert identity == Identity("kubernetes-admin", ("system:masters",))


def test_a_certificate_of_another_user_is_made_anew(tmp_path: Path) -> None:
    """The client certificate is always that of the present administrator, whatever the folder had."""
    made = ensure_certificates(tmp_path)
    now = datetime.now(UTC)
    other = _authority(made).sign_client("somebody", [], (now - timedelta(days=1), now + timedelta(days=365)))
    made.admin_certificate.write_bytes(other.certificate_pem())
    made.admin_key.write_bytes(other.key_pem())
    ensure_certificates(tmp_path)
    assert made.admin_certificate.read_bytes() != other.certificate_pem()


def test_clocks_do_not_take_turns(tmp_path: Path) -> None:
    """A simulated clock renews what does not cover it, and the machine's clock keeps that."""
    ensure_certificates(tmp_path)
    ensure_certificates(tmp_path, clock=SimulatedClock())
    before = contents(tmp_path)
    ensure_certificates(tmp_path)
    ensure_certificates(tmp_path, clock=SimulatedClock())
    assert contents(tmp_path) == before


def test_damage_is_repaired(tmp_path: Path) -> None:
    """Files that are broken, or do not fit together, are made anew."""
    made = ensure_certificates(tmp_path)
    made.admin_key.write_bytes(made.key.read_bytes())
    made.certificate.write_text("nonsense")
    ensure_certificates(tmp_path)
    for certificate, key in ((made.certificate, made.key), (made.admin_certificate, made.admin_key)):
        KeyPair.load(certificate.read_bytes(), key.read_bytes())
    authority = (tmp_path / "ca.key").read_bytes()
    (tmp_path / "ca.crt").unlink()
    ensure_certificates(tmp_path)
    assert (tmp_path / "ca.key").read_bytes() != authority
    assert KeyPair.load(made.certificate.read_bytes(), made.key.read_bytes()).issued_by(_authority(made))


def _authority(made: CertificateFiles) -> KeyPair:
    return KeyPair.load(made.authority.read_bytes(), made.authority.with_name("ca.key").read_bytes())


def test_certificates_that_expire_soon_are_renewed(tmp_path: Path) -> None:
    """A certificate with less than a month left is made anew."""
    made = ensure_certificates(tmp_path)
    now = datetime.now(UTC)
    short = _authority(made).sign_client("kubernetes-admin", [], (now - timedelta(days=1), now + timedelta(days=29)))
    made.admin_certificate.write_bytes(short.certificate_pem())
    made.admin_key.write_bytes(short.key_pem())
    ensure_certificates(tmp_path)
    assert made.admin_certificate.read_bytes() != short.certificate_pem()


def test_several_processes_at_once(tmp_path: Path) -> None:
    """Processes that start together end up with files that fit together."""
    code = "import sys; from pathlib import Path; from simkit.engine.http.certificates import ensure_certificates; ensure_certificates(Path(sys.argv[1]))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(20) for process in running] == [0, 0, 0]
    before = contents(tmp_path)
    ensure_certificates(tmp_path)
    assert contents(tmp_path) == before


def test_files_that_were_checked_are_not_parsed_again(tmp_path: Path) -> None:
    """The second start trusts the record, without importing cryptography; a file that changed is read again."""
    made = ensure_certificates(tmp_path)
    code = "import sys; from pathlib import Path; from simkit.engine.http.certificates import ensure_certificates; ensure_certificates(Path(sys.argv[1])); print('cryptography' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
    made.admin_key.write_bytes(made.key.read_bytes())
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"True\n"
    KeyPair.load(made.admin_certificate.read_bytes(), made.admin_key.read_bytes())


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"files": 1, "names": 2, "begins": 3, "ends": 4}'])
def test_a_record_of_something_else_counts_for_nothing(tmp_path: Path, record: bytes) -> None:
    """The files are parsed where the record is not ours, and the record is written anew."""
    ensure_certificates(tmp_path)
    before = contents(tmp_path)
    (tmp_path / certificates.NAME).write_bytes(record)
    ensure_certificates(tmp_path)
    assert contents(tmp_path) == before


def test_a_token_key_that_is_none_is_named(tmp_path: Path) -> None:
    """The key that signs tokens is not replaced, since tokens in use would end: its file is named."""
    made = ensure_certificates(tmp_path)
    made.token_key.write_text("nonsense")
    with pytest.raises(SimkitError, match=r"sa\.key holds no private key"):
        ensure_certificates(tmp_path)


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    """A folder that cannot be made is wrong use, with what to do about it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SimkitError, match="--cert-dir"):
        ensure_certificates(tmp_path / "file")


def test_the_folder_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Certificates are state of the user, where the desktop's rules put it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "simkit" / "certificates"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/ann")
    assert default_folder() == Path("/home/ann/.local/state/simkit/certificates")


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """A file that cannot be put in place leaves the old state and no half of the new one."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "x").write_text("")
    with pytest.raises(OSError):
        write_whole(tmp_path / "target", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_client_configuration(tmp_path: Path) -> None:
    """A client configuration is whole, private, and overwritten as a whole."""
    path = tmp_path / "new" / "config"
    certificates.write_kubeconfig(path, certificates.kubeconfig_document("https://a", authority=b"pem"))
    assert path.stat().st_mode & 0o777 == 0o600
    config = orjson.loads(path.read_bytes())
    assert config["clusters"] == [
        {"name": "simkit", "cluster": {"server": "https://a", "certificate-authority-data": "cGVt"}}
    ]
    with pytest.raises(SimkitError, match="client configuration"):
        certificates.write_kubeconfig(path / "below", {})


def test_folders_and_keys_of_others_are_not_trusted(tmp_path: Path) -> None:
    """Whoever may write a key, or the folder, would be an administrator."""
    folder = tmp_path / "made"
    ensure_certificates(folder)
    folder.chmod(0o770)
    with pytest.raises(SimkitError, match="chmod 700"):
        ensure_certificates(folder)
    folder.chmod(0o700)
    key = next(folder.glob("*.key"))
    key.chmod(0o644)
    with pytest.raises(SimkitError, match="chmod 600"):
        ensure_certificates(folder)
    key.chmod(0o600)
    ensure_certificates(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")
def test_files_of_another_user_are_refused(tmp_path: Path) -> None:
    """The folder itself, and each key and certificate in it: whom an authority has signed is an administrator."""
    folder = tmp_path / "made"
    ensure_certificates(folder)
    for path in (folder, *folder.glob("*.key"), *folder.glob("*.crt")):
        os.chown(path, 4242, 4242)
        with pytest.raises(SimkitError, match="belongs to another user"):
            ensure_certificates(folder)
        os.chown(path, 0, 0)


@pytest.mark.parametrize("mask", [0, 0o777])
def test_folders_above_are_made_for_the_user_alone(tmp_path: Path, mask: int) -> None:
    """Under any umask."""
    before = os.umask(mask)
    try:
        ensure_certificates(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"):
        assert folder.stat().st_mode & 0o777 == 0o700

"""Group memberships from files: certificates, exports of identity providers, and any of them by content."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.membership.cluster import (
    MembershipTable,
    Pair,
    members_of_audit_log,
    members_of_snapshot,
    membership_table,
    merge_members,
)
from simkit.analysis.rbac.subject import parse_subject
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.meta.certificate_errors import unreadable
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.snapshot.load import load

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


_USER_COLUMNS: Final = ("user", "username", "user_name", "userprincipalname", "login", "email", "mail", "member")
_GROUP_COLUMNS: Final = ("group", "groups", "groupname", "group_name", "groupdisplayname", "team", "memberof")
_NAME: Final = re.compile(r"^(?:cn|uid|ou)=((?:[^,\\]|\\.)+)", re.IGNORECASE)


def members_of_export(content: Object | str, *, user_prefix: str = "", group_prefix: str = "") -> MembershipTable:
    """The members of groups according to an export of an identity provider.

    Parameters
    ----------
    content
        A decoded Keycloak realm (``users`` with ``groups``) or SCIM 2.0 list of Users or Groups; the text of an LDIF
        file (groups with ``member``, ``uniqueMember`` or ``memberUid``, people with ``memberOf``); the text of a CSV
        file with a heading that names users and groups, or of the server's own file of tokens.
    user_prefix, group_prefix
        What the server puts before the provider's names.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group.

    Raises
    ------
    SimkitError
        For content of another form.
    """
    pairs = _of_mapping(content) if isinstance(content, Mapping) else _of_text(content)
    return membership_table(pairs, user_prefix=user_prefix, group_prefix=group_prefix)


def _of_mapping(content: Mapping[str, Any]) -> Iterable[Pair]:
    if "realm" in content:
        return list(_of_keycloak(content))
    if "Resources" in content or str(content.get("schemas", "")).find("scim") >= 0:
        return list(_of_scim(content.get("Resources") or [content]))
    raise SimkitError("this is neither an export of a Keycloak realm nor a SCIM list")


def _of_keycloak(realm: Mapping[str, Any]) -> Iterator[Pair]:
    """Members of groups in a realm. Groups are paths (``/platform/admins``); the server sees the whole path or its
    last part."""
    for user in realm.get("users") or ():
        for path in user.get("groups") or ():
            yield str(user.get("username") or ""), str(path).rpartition("/")[2]
            if str(path).count("/") > 1:
                yield str(user.get("username") or ""), str(path)


def _of_scim(resources: Iterable[Mapping[str, Any]]) -> Iterator[Pair]:
    listed = list(resources)
    names = {str(each.get("id")): str(each["userName"]) for each in listed if each.get("userName")}
    for each in listed:
        group = str(each.get("displayName") or "")
        for member in each.get("members") or ():
            yield names.get(str(member.get("value")), str(member.get("display") or member.get("value"))), group
        for entry in each.get("groups") or () if each.get("userName") else ():
            yield str(each["userName"]), str(entry.get("display") or entry.get("value"))


def _of_text(text: str) -> Iterable[Pair]:
    if re.search(r"(?mi)^dn:", text):
        return list(_of_ldif(text))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row and not row[0].startswith("#")]
    except csv.Error as error:
        raise SimkitError(f"this is not a table: {error}") from None
    if not rows:
        raise SimkitError("the file is empty")
    heading = [cell.strip().lower().replace(" ", "") for cell in rows[0]]
    user = next((place for place, cell in enumerate(heading) if cell in _USER_COLUMNS), None)
    group = next((place for place, cell in enumerate(heading) if cell in _GROUP_COLUMNS), None)
    if user is not None and group is not None:
        return list(_of_rows(rows[1:], user, group))
    if all(len(row) >= 3 for row in rows):  # token, user, uid and perhaps groups: the server's own file
        return list(_of_rows([row for row in rows if len(row) > 3], 1, 3))
    raise SimkitError(f"no column of {', '.join(heading)} is called user or group")


def _of_rows(rows: Iterable[Sequence[str]], user: int, group: int) -> Iterator[Pair]:
    for row in rows:
        if len(row) > max(user, group):
            yield from ((row[user].strip(), name.strip()) for name in re.split(r"[,;]", row[group]))


def _of_ldif(text: str) -> Iterator[Pair]:
    unfolded = re.sub(r"\r?\n ", "", text)
    for entry in re.split(r"\r?\n\s*\r?\n", unfolded):
        fields: dict[str, list[str]] = {}
        for line in entry.splitlines():
            name, colon, value = line.partition(":")
            if colon and not name.startswith("#"):
                fields.setdefault(name.strip().lower(), []).append(value.lstrip(": "))
        own = (fields.get("uid") or fields.get("cn") or [""])[0]
        for field in ("member", "uniquemember", "memberuid"):
            for member in fields.get(field, ()):
                yield _named(member), (fields.get("cn") or [""])[0]
        yield from ((own, _named(group)) for group in fields.get("memberof", ()))


def _named(text: str) -> str:
    """The name in a distinguished name; any other text unchanged."""
    match = _NAME.match(text)
    return match.group(1) if match else text


def members_of_files(
    paths: str | Path | Iterable[str | Path], *, user_prefix: str = "", group_prefix: str = ""
) -> MembershipTable:
    """The members of groups according to files of any known form.

    Parameters
    ----------
    paths
        A table (YAML or JSON: group to a list of subjects); certificates or a kubeconfig; an audit log; manifests of
        OpenShift groups, of ``aws-auth`` or of certificate requests; an export of an identity provider as
        ``members_of_export`` takes it.
    user_prefix, group_prefix
        What the server puts before names of exports.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group.

    Raises
    ------
    SimkitError
        For a file that is not there, or of which it cannot be told what it is; it names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("user,group\\nann,devs\\n")
    ...     file.flush()
    ...     members_of_files(file.name, group_prefix="oidc:")
    {'oidc:devs': ('user:ann',)}
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return merge_members(*(_of_file(Path(path), user_prefix, group_prefix) for path in listed))


def _of_file(path: Path, user_prefix: str, group_prefix: str) -> MembershipTable:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SimkitError(f"cannot read {path}: {error.strerror}") from None
    try:
        return _of_content(path, raw, {"user_prefix": user_prefix, "group_prefix": group_prefix})
    except SimkitError as wrong:
        raise SimkitError(f"{path}: {wrong}") from None
    except (AttributeError, TypeError, ValueError) as wrong:  # such as a number where an entry belongs
        raise SimkitError(f"{path}: a value has the wrong type for this kind of file: {wrong}") from None


def _of_content(path: Path, raw: bytes, prefixes: Mapping[str, str]) -> MembershipTable:
    if CERTIFICATE in raw:
        return members_of_certificates(raw)
    if f"audit.{API_DOMAIN}/".encode() in raw[:4096] or raw[:2] == b"\x1f\x8b":
        return members_of_audit_log(path)
    text = raw.decode("utf-8", "replace")
    if text.startswith("eyJ"):
        raise SimkitError("this is an identity token, of which no members are read")
    value = _decoded(text)
    if not isinstance(value, dict):
        return members_of_export(text, **prefixes)
    if value.get("kind") == "Config":
        return members_of_kubeconfig(value)
    if value.get("apiVersion"):
        return members_of_snapshot(load(path).snapshot())
    if all(isinstance(each, list | tuple) for each in value.values()) and "Resources" not in value:
        return {str(group): tuple(_subject(each) for each in subjects) for group, subjects in value.items()}
    return members_of_export(value, **prefixes)


def _decoded(text: str) -> Any:
    if text.lstrip()[:3].lower() == "dn:" or "\ndn:" in text:
        return None
    try:
        return decode(text)
    except BrokenText:
        return None


def _subject(text: Any) -> str:
    """A subject of a table, parsed so that mistakes are reported at once."""
    parse_subject(str(text))
    return str(text)

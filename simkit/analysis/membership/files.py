"""Files with group memberships, recognized by their content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simkit.analysis.membership.cluster import members_of_audit_log, members_of_snapshot
from simkit.analysis.membership.credentials import (
    CERTIFICATE,
    members_of_certificates,
    members_of_kubeconfig,
    members_of_tokens,
)
from simkit.analysis.membership.pairs import MembershipTable, merge_members
from simkit.analysis.membership.providers import members_of_export
from simkit.analysis.rbac.subject import parse_subject
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.snapshot.load import load


def members_of_files(
    paths: str | Path | Iterable[str | Path], *, user_prefix: str = "", group_prefix: str = ""
) -> MembershipTable:
    """The members of groups according to files of any known form.

    Parameters
    ----------
    paths
        A table (YAML or JSON: group to a list of subjects); certificates or a kubeconfig; tokens, one a line; an audit
        log; manifests of OpenShift groups, of ``aws-auth`` or of certificate requests; an export of an identity
        provider as ``members_of_export`` takes it.
    user_prefix, group_prefix
        What the server puts before names of tokens and exports.

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
        return members_of_tokens([line for line in text.splitlines() if line.strip()], **prefixes)
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

"""Groups as identity providers export them: Keycloak realms, SCIM, LDIF, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.analysis.membership.pairs import MembershipTable, Pair, membership_table
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object

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

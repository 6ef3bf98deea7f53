"""The files by which an image tells its distribution: ``/etc/os-release``, and its users and groups.

References
----------
os-release(5); the images alpine, debian, ubuntu and busybox of Docker Hub, and Debian's package base-passwd.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


class _Version(NamedTuple):
    number: str
    codename: str = ""
    title: str = ""
    """The name in ``VERSION`` of Ubuntu."""


_DEBIAN: Final = {
    "10": _Version("10", "buster"), "11": _Version("11", "bullseye"), "12": _Version("12", "bookworm"),
    "13": _Version("13", "trixie"),
}  # fmt: skip
_UBUNTU: Final = {
    "18.04": _Version("18.04", "bionic", "Bionic Beaver"), "20.04": _Version("20.04", "focal", "Focal Fossa"),
    "22.04": _Version("22.04", "jammy", "Jammy Jellyfish"), "24.04": _Version("24.04", "noble", "Noble Numbat"),
}  # fmt: skip
_LATEST: Final = {"alpine": "3.22", "debian": "12", "ubuntu": "24.04"}
"""The versions that tags without a number are taken for."""
_OF_CODENAME: Final = {
    **{each.codename: ("debian", each.number) for each in _DEBIAN.values()},
    **{each.codename: ("ubuntu", each.number) for each in _UBUNTU.values()},
}
_ALPINE_TAG: Final = re.compile(r"(?:^|-)alpine(\d+\.\d+(?:\.\d+)?)?(?:$|-)")
_SUFFIX: Final = re.compile(r"[a-z]+")
_DEBIAN_USERS: Final = (
    "root:0 daemon:1 bin:2 sys:3 sync:4:65534 games:5:60 man:6:12 lp:7 mail:8 news:9 uucp:10 proxy:13 www-data:33 "
    "backup:34 list:38 irc:39 _apt:42:65534 nobody:65534"
)
_DEBIAN_GROUPS: Final = (
    "root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 news:9 uucp:10 man:12 proxy:13 kmem:15 dialout:20 "
    "fax:21 voice:22 cdrom:24 floppy:25 tape:26 sudo:27 audio:29 dip:30 www-data:33 backup:34 operator:37 list:38 "
    "irc:39 src:40 shadow:42 utmp:43 video:44 sasl:45 plugdev:46 staff:50 games:60 users:100 nogroup:65534"
)
_ALPINE_USERS: Final = (
    "root:0 bin:1 daemon:2 lp:4:7 sync:5:0 shutdown:6:0 halt:7:0 mail:8:12 news:9:13 uucp:10:14 cron:16 ftp:21 sshd:22 "
    "games:35 ntp:123 guest:405:100 nobody:65534"
)
_ALPINE_GROUPS: Final = (
    "root:0 bin:1 daemon:2 sys:3 adm:4 tty:5 disk:6 lp:7 kmem:9 wheel:10 floppy:11 mail:12 news:13 uucp:14 cron:16 "
    "audio:18 cdrom:19 dialout:20 ftp:21 sshd:22 input:23 tape:26 video:27 netdev:28 kvm:34 games:35 shadow:42 "
    "www-data:82 users:100 ntp:123 utmp:406 ping:999 nogroup:65533 nobody:65534"
)
_BUSYBOX_USERS: Final = "root:0 daemon:1 bin:2 sys:3 sync:4:100 mail:8 www-data:33 operator:37 nobody:65534"
_BUSYBOX_GROUPS: Final = (
    "root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 kmem:9 wheel:10 cdrom:11 dialout:18 floppy:19 video:28 "
    "audio:29 tape:32 www-data:33 operator:37 utmp:43 plugdev:46 staff:50 lock:54 netdev:82 users:100 nobody:65534"
)
_ACCOUNTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "debian": (_DEBIAN_USERS, _DEBIAN_GROUPS, "/bin/bash"),
    "ubuntu": (_DEBIAN_USERS, _DEBIAN_GROUPS, "/bin/bash"),
    "alpine": (_ALPINE_USERS, _ALPINE_GROUPS, "/bin/sh"),
    "busybox": (_BUSYBOX_USERS, _BUSYBOX_GROUPS, "/bin/sh"),
}


def distribution_of(name: str, tag: str) -> tuple[str, str]:
    """The distribution of an image by its name and tag, and its version; empty where neither tells.

    Examples
    --------
    >>> distribution_of("alpine", "3.20"), distribution_of("nginx", "1.27-alpine3.19"), distribution_of("nginx", "1.27")
    (('alpine', '3.20'), ('alpine', '3.19'), ('', ''))
    >>> distribution_of("python", "3.12-slim-bookworm"), distribution_of("ubuntu", "jammy")
    (('debian', '12'), ('ubuntu', '22.04'))
    """
    if name == "busybox":
        return "busybox", ""
    alpine = _ALPINE_TAG.search(tag)
    if name in _LATEST:
        number = re.match(r"\d+(?:\.\d+)*", tag)
        named = next((version for word, (kind, version) in _OF_CODENAME.items() if kind == name and word in tag), "")
        return name, (number[0] if number is not None else named or _LATEST[name])
    if alpine is not None:
        return "alpine", alpine[1] or _LATEST["alpine"]
    return next((_OF_CODENAME[word] for word in _SUFFIX.findall(tag) if word in _OF_CODENAME), ("", ""))


def distribution_files(name: str, tag: str) -> dict[str, str | bytes]:
    """The files that an image has because of its distribution."""
    kind, version = distribution_of(name, tag)
    if not kind:
        return {}
    users, groups, shell = _ACCOUNTS[kind]
    found: dict[str, str | bytes] = {"/etc/passwd": _passwd(users, shell), "/etc/group": _group(groups)}
    if kind == "alpine":
        whole = version if version.count(".") > 1 else f"{version}.0"
        found |= {"/etc/os-release": _alpine(whole), "/etc/alpine-release": f"{whole}\n"}
    elif kind == "debian":
        known = _DEBIAN.get(version.partition(".")[0])
        found |= {} if known is None else {"/etc/os-release": _debian(known)}
        found["/etc/debian_version"] = f"{version if '.' in version else f'{version}.0'}\n"
    elif kind == "ubuntu" and version in _UBUNTU:
        found["/etc/os-release"] = _ubuntu(_UBUNTU[version])
    return found


def _rows(accounts: str) -> list[tuple[str, str, str]]:
    """Names with their numbers and the numbers of their groups."""
    parts = [each.split(":") for each in accounts.split()]
    return [(name, number, rest[0] if rest else number) for name, number, *rest in parts]


def _passwd(accounts: str, shell: str) -> str:
    homes = {"root": "/root", "nobody": "/nonexistent"}
    return "".join(
        f"{name}:x:{uid}:{gid}:{name}:{homes.get(name, '/')}:{shell if name == 'root' else '/sbin/nologin'}\n"
        for name, uid, gid in _rows(accounts)
    )


def _group(accounts: str) -> str:
    return "".join(f"{name}:x:{gid}:\n" for name, gid, _ in _rows(accounts))


def _alpine(version: str) -> str:
    short = ".".join(version.split(".")[:2])
    return (
        f'NAME="Alpine Linux"\nID=alpine\nVERSION_ID={version}\nPRETTY_NAME="Alpine Linux v{short}"\n'
        'HOME_URL="https://alpinelinux.org/"\n'
        'BUG_REPORT_URL="https://gitlab.alpinelinux.org/alpine/aports/-/issues"\n'
    )


def _debian(version: _Version) -> str:
    named = f"{version.number} ({version.codename})"
    return (
        f'PRETTY_NAME="Debian GNU/Linux {named}"\nNAME="Debian GNU/Linux"\nVERSION_ID="{version.number}"\n'
        f'VERSION="{named}"\nVERSION_CODENAME={version.codename}\nID=debian\nHOME_URL="https://www.debian.org/"\n'
        'SUPPORT_URL="https://www.debian.org/support"\nBUG_REPORT_URL="https://bugs.debian.org/"\n'
    )


def _ubuntu(version: _Version) -> str:
    return (
        f'PRETTY_NAME="Ubuntu {version.number} LTS"\nNAME="Ubuntu"\nVERSION_ID="{version.number}"\n'
        f'VERSION="{version.number} LTS ({version.title})"\nVERSION_CODENAME={version.codename}\nID=ubuntu\n'
        'ID_LIKE=debian\nHOME_URL="https://www.ubuntu.com/"\nSUPPORT_URL="https://help.ubuntu.com/"\n'
        f'BUG_REPORT_URL="https://bugs.launchpad.net/ubuntu/"\nUBUNTU_CODENAME={version.codename}\n'
    )

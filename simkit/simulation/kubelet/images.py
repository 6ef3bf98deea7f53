"""Images that everybody knows: web servers with a first page, and shells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from simkit.simulation.kubelet.distributions import distribution_files


class WebServer(NamedTuple):
    """The folder that a web server serves, and its first page."""

    folder: str
    page: str


WEB_SERVERS: Final[Mapping[str, WebServer]] = {
    "nginx": WebServer("/usr/share/nginx/html", "<html><body><h1>Welcome to nginx!</h1></body></html>\n"),
    "httpd": WebServer("/usr/local/apache2/htdocs", "<html><body><h1>It works!</h1></body></html>\n"),
}
"""Web servers by the name of their image."""
_SHELLS: Final = frozenset({"busybox", "alpine", "bash", "debian", "ubuntu"})

_BUSYBOX: Final = frozenset({"busybox", "alpine"})

_BASH_AS_SH: Final = frozenset(
    {"fedora", "centos", "rockylinux", "almalinux", "oraclelinux", "amazonlinux", "archlinux", "ubi", "ubi-minimal"}
)


def image_name(image: str) -> str:
    """The last part of an image's name.

    Examples
    --------
    >>> image_name("docker.io/library/nginx:1.25@sha256:0")
    'nginx'
    """
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def is_shell_image(image: str) -> bool:
    """True if the arguments of an image without a command are commands."""
    return image_name(image) in _SHELLS


def has_bash_as_sh(image: str) -> bool:
    """True if ``sh`` is bash in an image.

    Examples
    --------
    >>> has_bash_as_sh("registry.access.redhat.com/ubi9/ubi-minimal:9.5"), has_bash_as_sh("debian:12")
    (True, False)
    """
    return image_name(image) in _BASH_AS_SH


def has_coreutils(image: str) -> bool:
    """True if the tools of an image are those of GNU, as in most; those of unnamed ones are busybox's.

    Examples
    --------
    >>> has_coreutils("python:3.12"), has_coreutils("alpine:3.20"), has_coreutils("python:3.12-alpine")
    (True, False, False)
    """
    return bool(image) and image_name(image) not in _BUSYBOX and "alpine" not in image.rpartition(":")[2]


def files_of(image: str) -> dict[str, str | bytes]:
    """The files that an image has."""
    name = image_name(image)
    server, tag = WEB_SERVERS.get(name), image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    pages: dict[str, str | bytes] = {f"{server.folder}/index.html": server.page} if server is not None else {}
    return pages | distribution_files(name, tag)

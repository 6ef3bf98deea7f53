"""Images: their references, and those that everybody knows: web servers with a first page, and shells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

# References. Upstream: github.com/distribution/reference (``ParseNormalizedNamed``), version 0.6.

_DEFAULT_HOST: Final = "docker.io"
_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG: Final = r"[\w][\w.-]{0,127}"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?P<host>{_DOMAIN})/(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?", re.ASCII
)
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_LONGEST_NAME: Final = 255
_LONGEST: Final = 4096
"""Letters of a reference that is looked at at all; more could be no name, tag and digest."""


class BadReference(ValueError):
    """A text that is no reference of an image; the text says why, in the words of kubelets."""


class Reference(NamedTuple):
    """The host of a registry, the path of a repository, and a tag or a digest."""

    host: str
    path: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.host}/{self.path}{tag}" + (f"@{self.digest}" if self.digest else "")


@lru_cache(maxsize=1024)
def reference(image: str) -> Reference:
    """The reference in a name of an image, with what is left out of it. Raises BadReference.

    Examples
    --------
    >>> str(reference("nginx")), str(reference("ghcr.io/a/b:1"))
    ('docker.io/library/nginx:latest', 'ghcr.io/a/b:1')
    """
    if _IDENTIFIER.fullmatch(image):
        raise BadReference(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    host, path = _split(image)
    name = path.partition("@")[0].partition(":")[0]
    if name != name.lower():
        raise BadReference(f"invalid reference format: repository name ({name}) must be lowercase")
    found = _REFERENCE.fullmatch(f"{host}/{path}") if len(image) <= _LONGEST else None
    if found is None:
        raise BadReference("invalid reference format")
    if len(found["host"]) + 1 + len(found["path"]) > _LONGEST_NAME:
        raise BadReference(f"repository name must not be more than {_LONGEST_NAME} characters")
    tag, digest = found["tag"] or "", found["digest"] or ""
    return Reference(found["host"], found["path"], tag or ("" if digest else "latest"), digest)


def _split(image: str) -> tuple[str, str]:
    """The host and the rest: what stands before the first slash, if it looks like a host."""
    first, slash, rest = image.partition("/")
    if not slash or not (set(first) & {".", ":"} or first == "localhost" or first != first.lower()):
        first, rest = _DEFAULT_HOST, image
    if first == f"index.{_DEFAULT_HOST}":
        first = _DEFAULT_HOST
    return first, f"library/{rest}" if first == _DEFAULT_HOST and "/" not in rest else rest


# Images that everybody knows


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


def files_of(image: str) -> dict[str, str | bytes]:
    """The files that an image has."""
    server = WEB_SERVERS.get(image_name(image))
    return {f"{server.folder}/index.html": server.page} if server is not None else {}

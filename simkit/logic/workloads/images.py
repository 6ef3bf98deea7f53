"""Names of images."""

from __future__ import annotations


def tagged(image: str) -> str:
    """The name of an image with its tag, which is ``latest`` where none is written.

    Examples
    --------
    >>> tagged("a"), tagged("host:5000/a"), tagged("a:1")
    ('a:latest', 'host:5000/a:latest', 'a:1')
    """
    return f"{image}:latest" if image.rfind(":") <= image.rfind("/") else image

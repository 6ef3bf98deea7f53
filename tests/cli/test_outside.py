"""Flags for servers that are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simkit.cli.pages import PageParser
from simkit.cli.serve import add_options
from simkit.cli.server_options import server_options
from simkit.meta.errors import SimkitError


def options(*arguments: str) -> dict[str, Any]:
    """The options of the cluster by flags."""
    parser = PageParser()
    add_options(parser)
    return server_options(parser.parse_args(arguments))


def test_services_and_certificate_become_options() -> None:
    """Each service has its address; nothing is set unless given."""
    given = options("--service-address", "a/b=h:1", "--service-address", "a/c:8443=h:2")
    assert given["services"] == {"a/b": "h:1", "a/c:8443": "h:2"}
    assert options().get("proxy_client_cert_file") is None
    both = options("--proxy-client-cert-file", "c", "--proxy-client-key-file", "k")
    assert both["proxy_client_key_file"] == Path("k")


@pytest.mark.parametrize(
    "arguments", [("--service-address", "b=h:1"), ("--service-address", "a/b"), ("--proxy-client-cert-file", "c")]
)
def test_options_that_do_not_fit_are_named(arguments: tuple[str, ...]) -> None:
    """A service without namespace or address, a certificate without its key."""
    with pytest.raises(SimkitError):
        options(*arguments)

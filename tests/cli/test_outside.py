"""Flags for servers that are called."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from simkit.cli.outside import add_arguments, options
from simkit.meta.errors import SimkitError


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(arguments))


def test_services_and_certificate_become_options() -> None:
    """Each service has its address; nothing is set unless given."""
    given = options(parsed("--service-address", "a/b=h:1", "--service-address", "a/c:8443=h:2"))
    assert given["services"] == {"a/b": "h:1", "a/c:8443": "h:2"}
    assert options(parsed())["proxy_client_cert_file"] is None
    both = options(parsed("--proxy-client-cert-file", "c", "--proxy-client-key-file", "k"))
    assert both["proxy_client_key_file"] == Path("k")


@pytest.mark.parametrize(
    "arguments", [("--service-address", "b=h:1"), ("--service-address", "a/b"), ("--proxy-client-cert-file", "c")]
)
def test_options_that_do_not_fit_are_named(arguments: tuple[str, ...]) -> None:
    """A service without namespace or address, a certificate without its key."""
    with pytest.raises(SimkitError):
        options(parsed(*arguments))

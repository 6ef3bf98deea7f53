"""The errors of reading certificates, signing requests and public keys, which anybody may have made."""

from __future__ import annotations

from functools import cache


@cache
def unreadable() -> tuple[type[Exception], ...]:
    """The errors that cryptography raises for certificates, signing requests, keys and names that it cannot read.

    Few of them are ValueErrors. Extensions and names are read when they are asked for, and raise them then.

    Examples
    --------
    >>> ValueError in unreadable()
    True
    """
    from cryptography import x509  # loaded with the first certificate
    from cryptography.exceptions import UnsupportedAlgorithm

    return (
        ValueError,
        TypeError,
        UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    )

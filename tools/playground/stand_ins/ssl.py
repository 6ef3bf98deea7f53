"""The errors of the standard library's ``ssl``, which Pyodide 0.27 does not have: nothing connects in a browser."""


class SSLError(OSError):
    """An error of a connection."""


class SSLCertVerificationError(SSLError):
    """A certificate that is not trusted."""


class SSLContext:
    """The settings of a connection."""

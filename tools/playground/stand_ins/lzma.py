"""The error of the standard library's ``lzma``: Pyodide 0.27 does not have this module."""


class LZMAError(Exception):
    """Data that is not compressed with xz."""

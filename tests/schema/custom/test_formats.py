"""String formats."""

from __future__ import annotations

import pytest

from simkit.schema.custom.formats import FORMATS, format_named
from tests.releases import BASE


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "date-time",
            ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5+02:00"],
            ["2020-01-01", "2020-01-01T24:00:00Z", ""],
        ),
        ("date", ["2024-02-29"], ["2023-02-29", "20230101", "x"]),
        (
            "duration",
            ["5m", "1h30m", "-1.5s", "3 days", "in 12d3 or so", "3 Weekly"],
            ["xx", "5", "", "5x", "99999999999999999999 s"],
        ),
        ("ipv4", ["1.2.3.4"], ["1.2.3", "::1"]),
        ("ipv6", ["::1"], ["1.2.3.4", "::1%eth0"]),
        ("cidr", ["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33"]),
        ("mac", ["01:02:03:04:05:06", "0102.0304.0506"], ["01:02", "01:02-03:04:05:06"]),
        ("uuid", ["11111111-2222-3333-4444-555555555555"], ["1111"]),
        ("uuid4", ["11111111-2222-4333-8444-555555555555"], ["11111111-2222-3333-8444-555555555555"]),
        ("uri", ["https://x.example.com/a?b", "/a", "urn:x"], ["::", "a b", ""]),
        ("email", ["a@example.com"], ["a", "a@b@c"]),
        (
            "hostname",
            ["a.example.com", "localhost", "a-b", "a-", "x=y"],
            ["-a-", "a..b", "a" * 64, "a-b-c", "a.b", "2024-01-01"],
        ),
        ("byte", ["aGk="], ["!", "aGk", ""]),
        ("isbn10", ["0-306-40615-2"], ["0-306-40615-3"]),
        ("isbn13", ["978-0-306-40615-7"], ["978-0-306-40615-8"]),
        ("creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112", "1"]),
        ("ssn", ["111-22-3333"], ["111-2-3333"]),
        ("hexcolor", ["#fff", "A0B1C2"], ["#ff"]),
        ("rgbcolor", ["rgb(1, 2, 255)"], ["rgb(1,2,256)"]),
        ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f"]),
        ("password", ["anything", ""], []),
    ],
)
def test_format(name: str, good: list[str], bad: list[str]) -> None:
    """Each format takes what it means and nothing else."""
    check = format_named(BASE, name)
    assert check is not None
    assert [text for text in good if not check(text)] == []
    assert [text for text in bad if check(text)] == []


def test_every_format_answers_any_text() -> None:
    """No text breaks a format."""
    for check in FORMATS.values():
        for text in ("", "\x00", "é" * 300, "1" * 300, "%", "[", "::::", "9999-99-99T99:99:99Z"):
            check(text)

"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A submission is judged by the same examples every time; at a desk they are new ones, which is how faults are found.
settings.register_profile("repeatable", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("repeatable")

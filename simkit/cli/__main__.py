"""The command line as ``python -m simkit.cli``."""

import sys

from simkit.cli import main

sys.exit(main())

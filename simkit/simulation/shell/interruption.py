"""The interruption of a program by its terminal."""


class Interrupted(Exception):
    """Thrown into a program at its present step, as a terminal does at Ctrl-C. Who does not catch it ends by it."""


CODE = 130
"""The exit code of a program that was interrupted."""

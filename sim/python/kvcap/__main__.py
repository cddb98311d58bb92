"""Runs the program with its bundled libraries: the command kvcap of a wheel, and python -m kvcap."""

import os
import sys

from ._errors import ProgramError
from ._program import environment, program


def main() -> None:
    try:
        path = program()
    except ProgramError as error:
        sys.exit(f"kvcap: {error}")
    os.execve(path, ["kvcap", *sys.argv[1:]], environment(path) or dict(os.environ))


if __name__ == "__main__":
    main()

"""The program's exit codes as exceptions."""

import re
from typing import Any, Optional


class Error(Exception):
    """A command failed."""


class InputError(Error, ValueError):
    """Bad input (exit code 2), with ``file``, ``field``, ``found`` and ``allowed``; None if the message lacks one."""

    _PLACE = re.compile(r"(?P<file>[^\s:][^:]*?): (?:(?P<field>[A-Za-z_][\w.\[\]-]*): )?(?P<rest>.*)", re.DOTALL)
    _SET = re.compile(r"--set (?P<field>[^=\s]+)=.*?: (?P<rest>.*)", re.DOTALL)
    _FOUND = re.compile(r"found (?P<found>.+?), allowed: (?P<allowed>.+)", re.DOTALL)

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.file: Optional[str] = None
        self.field: Optional[str] = None
        by_set, place = self._SET.match(message), self._PLACE.match(message)
        if by_set:
            self.field = by_set["field"]
        elif place:
            self.file, self.field = place["file"], place["field"]
        found = self._FOUND.search(message)
        self.found: Optional[str] = found["found"] if found else None
        self.allowed: Optional[str] = found["allowed"] if found else None


class CheckFailed(Error):
    """A requirement does not hold, or nothing meets the targets (exit code 3); ``result`` is what the command printed."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ProgramError(Error):
    """The program is missing, died, or has a bug (exit code 1)."""

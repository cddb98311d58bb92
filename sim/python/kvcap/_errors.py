"""The program's exit codes as exceptions."""

import re
from typing import Any, Optional


class Error(Exception):
    """A command failed."""


class InputError(Error, ValueError):
    """Bad input (exit code 2): ``file``, ``field``, ``found`` and ``allowed``, each None if the message has none.

    ``field`` is the path of a field, or the option that set it: ``--engine``.
    """

    _PLACE = re.compile(r"(?P<file>[^\s:][^:]*?): (?:(?P<field>[A-Za-z_][\w.\[\]-]*): )?(?P<rest>.*)", re.DOTALL)
    _SET = re.compile(r"--set (?P<field>[^=\s]+)=.*?: (?P<rest>.*)", re.DOTALL)
    _OPTION = re.compile(r"(?P<option>--[\w-]+)[^:]*: (?:(?P<field>[a-z_]+(?:\.[\w-]+)+): )?")
    _FOUND = re.compile(r"found (?P<found>.+?)(?:; did you mean [^?]*\?|,) allowed: (?P<allowed>.+)", re.DOTALL)
    _UNKNOWN = re.compile(r"unknown key(?:, allowed: (?P<allowed>.+))?", re.DOTALL)
    _NO_FILE = "the command line"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.file: Optional[str] = None
        self.field: Optional[str] = None
        by_set, option, place = (one.match(message) for one in (self._SET, self._OPTION, self._PLACE))
        if by_set:
            self.field = by_set["field"]
        elif option:
            self.field = option["field"] or option["option"]
        elif place:
            self.file = place["file"] if place["file"] != self._NO_FILE else None
            self.field = place["field"]
        found, unknown = self._FOUND.search(message), self._UNKNOWN.search(message)
        allowed = found or unknown
        self.found: Optional[str] = found["found"] if found else None
        self.allowed: Optional[str] = allowed["allowed"] if allowed else None
        if unknown and self.field:
            self.found = self.field.rpartition(".")[2]


class CheckFailed(Error):
    """A requirement does not hold, or nothing meets the targets (exit code 3); ``result`` is what the command printed."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ProgramError(Error):
    """The program is missing, died, or has a bug (exit code 1)."""

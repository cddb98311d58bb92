"""Runs the program and reads its JSON."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._errors import CheckFailed, InputError, ProgramError

_BUNDLED = Path(__file__).resolve().parent / "bin" / "kvcap"


def program() -> str:
    """Returns the path of the program: KVCAP_BIN, the package's own, or the one on PATH."""
    given = os.environ.get("KVCAP_BIN")
    if given:
        if not os.access(given, os.X_OK):
            raise ProgramError(f"KVCAP_BIN: found {given!r}, allowed: the path of the program kvcap")
        return given
    if os.access(_BUNDLED, os.X_OK):
        return str(_BUNDLED)
    found = shutil.which("kvcap")
    if found is None:
        raise ProgramError("the program kvcap is not on PATH; set KVCAP_BIN=/path/to/kvcap")
    return found


def option_words(options: Mapping[str, Any]) -> List[str]:
    """Turns ``{"ignore_flags": "pp", "fetch": True}`` into ``["--ignore-flags", "pp", "--fetch"]``.

    None and False leave the option out. A list repeats the option, except for ``policies``, ``dram`` and ``ssd``,
    which take one list separated by commas. A mapping gives one ``PATH=VALUE,...`` per entry, as for ``over``.
    """
    words: List[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            for path, values in value.items():
                listed = values if isinstance(values, (list, tuple)) else [values]
                words += [flag, f"{path}=" + ",".join(_text(one) for one in listed)]
        elif isinstance(value, (list, tuple)):
            texts = [_text(one) for one in value]
            if name in ("policies", "dram", "ssd"):
                words += [flag, ",".join(texts)]
            else:
                for text in texts:
                    words += [flag, text]
        else:
            words += [flag, _text(value)]
    return words


def set_words(changes: Mapping[str, Any]) -> List[str]:
    words: List[str] = []
    for path, value in changes.items():
        words += ["--set", f"{path}={json.dumps(value)}"]
    return words


def call(arguments: Sequence[str], json_output: bool = True) -> Any:
    """Runs the program and returns what it prints: parsed JSON, or text if ``json_output`` is false."""
    command = [program(), *arguments] + (["--json"] if json_output else [])
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(command[0]), check=False)
    except OSError as error:
        raise ProgramError(f"{command[0]}: {error.strerror}") from error
    said = _message(done.stderr.decode("utf-8", "replace"))
    if done.returncode == 2:
        raise InputError(said)
    if done.returncode == 130 or done.returncode == -2:
        raise KeyboardInterrupt
    if done.returncode not in (0, 3):
        raise ProgramError(said or f"{command[0]} ended with exit code {done.returncode}")
    printed = done.stdout.decode("utf-8")
    answer = _parsed(printed) if json_output else printed
    if done.returncode == 3:
        raise CheckFailed(said or "a requirement does not hold", answer)
    return answer


def environment(path: str) -> Optional[Dict[str, str]]:
    """Returns the environment for the package's own program, with its libraries; None for any other program."""
    if path != str(_BUNDLED):
        return None
    environment = dict(os.environ)
    others = environment.get("LD_LIBRARY_PATH")
    libraries = str(_BUNDLED.parent.parent / "lib")
    environment["LD_LIBRARY_PATH"] = f"{libraries}:{others}" if others else libraries
    return environment


def _message(said: str) -> str:
    """Returns the program's last message, without the program's name."""
    begin = said.rfind("kvcap: ")
    return said[begin + 7:].strip() if begin >= 0 and (begin == 0 or said[begin - 1] == "\n") else said.strip()


def _parsed(printed: str) -> Any:
    if not printed.strip():
        return None
    try:
        return json.loads(printed)
    except ValueError as error:
        raise ProgramError(f"the program printed no JSON: {error}") from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else os.fspath(value) if isinstance(value, os.PathLike) else json.dumps(value)

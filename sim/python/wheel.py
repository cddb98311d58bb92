#!/usr/bin/env python3
"""Writes a wheel of the package with the program and the libraries that it needs: wheel.py PROGRAM FOLDER.

The wheel runs on systems whose glibc is at least as new as here. No network access is needed.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "kvcap"
# Parts of glibc are left out: every machine has them, and they must match its loader.
OF_GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|nsl|util|anl))\.so(\.\d+)*$")


def version_of(program: str) -> str:
    said = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r"\d+\.\d+\.\d+", said)[0]


def libraries_of(program: str) -> "dict[str, Path]":
    """Returns the shared libraries that the loader finds for the program, by name, without those of glibc."""
    said = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE):
        if not OF_GLIBC.match(name):
            found[name] = Path(path)
    return found


def tag() -> str:
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    return f"py3-none-manylinux_{glibc}_{platform.machine()}"


def write(program: str, folder: Path) -> Path:
    version = version_of(program)
    info = f"kvcap-{version}.dist-info"
    files = {f"kvcap/{one.name}": (one.read_bytes(), 0o644) for one in sorted(PACKAGE.iterdir()) if one.is_file()}
    files["kvcap/bin/kvcap"] = (Path(program).read_bytes(), 0o755)
    for name, path in sorted(libraries_of(program).items()):
        files[f"kvcap/lib/{name}"] = (path.read_bytes(), 0o755)
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: kvcap\nVersion: {version}\n"
        "Summary: Simulates LLM serving with KV caches in GPU, DRAM, SSD and remote tiers, and plans the hardware\n"
        "Requires-Python: >=3.8\nProvides-Extra: frames\nRequires-Dist: pandas; extra == 'frames'\n"
        "Requires-Dist: matplotlib; extra == 'frames'\n".encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: kvcap\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode(), 0o644)
    files[f"{info}/entry_points.txt"] = (b"[console_scripts]\nkvcap = kvcap.__main__:main\n", 0o644)
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"kvcap-{version}-{tag()}.whl"
    partial = wheel.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name)  # has a fixed date, so that equal files make equal wheels
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    partial.replace(wheel)
    return wheel


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(write(sys.argv[1], Path(sys.argv[2])))

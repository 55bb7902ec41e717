"""Build the compiled core: for pip as a hook of the build, for `make core` as a script.

Whatever the machine lacks comes from PyPI: CMake, Ninja, and where there is no C++ compiler that of Zig. With
`SEPARATRIX_WHEEL`, one of `PLATFORMS`, Zig builds the wheel of that platform (`scripts/build-wheels`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

TOP = Path(__file__).resolve().parent
PLATFORMS = {  # the wheel's: what Zig calls it, CMake's name of the system, the oldest glibc or macOS included
    "manylinux_2_17_x86_64": ("x86_64-linux-gnu.2.17", "Linux"),
    "manylinux_2_17_aarch64": ("aarch64-linux-gnu.2.17", "Linux"),
    "macosx_11_0_x86_64": ("x86_64-macos.11.0", "Darwin"),
    "macosx_11_0_arm64": ("aarch64-macos.11.0", "Darwin"),
    "win_amd64": ("x86_64-windows-gnu", "Windows"),
}
PLATFORM = os.environ.get("SEPARATRIX_WHEEL")  # None: this machine
if PLATFORM and PLATFORM not in PLATFORMS:
    sys.exit(f"SEPARATRIX_WHEEL must be one of {', '.join(PLATFORMS)}, got {PLATFORM!r}; without it, this machine.")
SYSTEM = PLATFORMS[PLATFORM][1] if PLATFORM else platform.system()
SUFFIX = {"Windows": ".dll", "Darwin": ".dylib"}.get(SYSTEM, ".so")
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])  # .venv/bin at the end


def version_of(tool: str) -> tuple[int, ...]:
    """What this program says of itself; (0,) where it is missing or does not run."""
    path = shutil.which(tool, path=PATH)
    try:
        told = subprocess.run([path or tool, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", told)[:2])


def compiler() -> str | None:
    """$CXX, else the compiler in PATH, else None: Zig's, which is also that for Windows and for other machines."""
    found = None if PLATFORM or SYSTEM == "Windows" else next(filter(shutil.which, ["c++", "g++", "clang++"]), None)
    return found if PLATFORM else os.environ.get("CXX") or found


def zig() -> str:
    """Zig's compiler as a value of CXX, for any processor of this kind; by itself it would compile for this one."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        sys.exit("no C++ compiler: install one, set CXX, or `pip install ziglang`")
    program = Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")
    words = [f'"{program}"', "c++", "-mcpu=baseline", "-fno-sanitize=undefined"]
    if PLATFORM:
        words.append(f"--target={PLATFORMS[PLATFORM][0]}")
    elif sys.platform == "linux":
        libc = "gnu" if platform.libc_ver()[0] == "glibc" else "musl"
        words.append(f"--target={platform.machine()}-linux-{libc}")
    return " ".join(words)


def needs() -> list[str]:
    """The packages of PyPI that stand in for what the machine lacks."""
    wanted = {
        "cmake>=3.18": version_of("cmake") < (3, 18),
        "ninja>=1.10": version_of("ninja") < (1, 10),
        "ziglang>=0.13": compiler() is None,
    }
    return [package for package, missing in wanted.items() if missing]


def build(folder: Path, *options: str) -> Path:
    """The library, built in this folder; what was compiled there before is used again."""
    environment = {**os.environ, "PATH": PATH, "CXX": compiler() or zig()}
    cmake, ninja = (shutil.which(tool, path=PATH) for tool in ("cmake", "ninja"))
    if cmake is None or ninja is None:
        sys.exit(f"to build the core, first `pip install {' '.join(needs())}`")
    if PLATFORM:  # another system; the tool of Apple's linker is not here, and not needed
        options += (f"-DCMAKE_SYSTEM_NAME={SYSTEM}", "-DCMAKE_INSTALL_NAME_TOOL=none")
    configure = [cmake, "-S", str(TOP), "-B", str(folder), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", *options]
    for command in (configure, [cmake, "--build", str(folder)]):
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        if done.returncode or "warning:" in done.stdout:
            print(done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"building the core failed with status {done.returncode}")
    return folder / f"libseparatrix{SUFFIX}"


class CoreHook(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that is not used
    """The library in the wheel, which any Python 3 of the platform can load; beside the sources if editable."""

    def dependencies(self) -> list[str]:
        """What pip has to install for the build."""
        return needs()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files of the wheel are collected."""
        if version == "editable":
            build(TOP / "build" / "core")
            return
        self.folder = mkdtemp(prefix="separatrix-core-")
        flags = "-s -nostdlib++" if PLATFORM else "-s" if SYSTEM == "Linux" else ""  # of C++ the core needs no library
        library = build(Path(self.folder), "-DSEPARATRIX_PLACE=", f"-DCMAKE_SHARED_LINKER_FLAGS={flags}")
        build_data["force_include"][str(library)] = f"separatrix/core/{library.name}"
        build_data["pure_python"] = False
        tags = (tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
        build_data["tag"] = f"py3-none-{PLATFORM or next(tags)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built for the wheel."""
        if version != "editable":
            shutil.rmtree(self.folder)


if __name__ == "__main__":
    if sys.argv[1:] == ["needs"]:
        print(*needs())
    else:
        build(Path(sys.argv[1]), *sys.argv[2:])

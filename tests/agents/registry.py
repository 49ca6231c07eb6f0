"""Installs agents as their registries have them, each into a folder of its own; what is there already stays.

AGENTS names the folder above them (target/agents below the repository).
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGENTS = Path(os.environ.get("AGENTS", ROOT / "target" / "agents")).resolve()
INSTALL_SECONDS_MAX = 600


class Failed(Exception):
    """Something did not come out as it should."""


def install(name: str, package: str) -> Path:
    """The folder of an agent's programs. A package with `==` is Python's and gets an environment made by uv, others are npm's."""
    folder = AGENTS / name
    stamp = folder / package.replace("/", "_")
    is_python = "==" in package
    programs = folder / "bin" if is_python else folder / "node_modules" / ".bin"
    if stamp.exists():
        return programs
    folder.mkdir(parents=True, exist_ok=True)
    if is_python:
        run(["uv", "venv", "--quiet", "--allow-existing", str(folder)], folder)
        run(["uv", "pip", "install", "--quiet", "--python", str(folder), "--only-binary", ":all:", package], folder)
    else:
        (folder / "package.json").write_text('{"private":true}')
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package], folder)
    stamp.touch()
    return programs


def run(command: list[str], folder: Path):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX)
    except FileNotFoundError as error:
        raise Failed(f"there is no {command[0]} to install it with") from error
    if done.returncode != 0:
        raise Failed(f"{command[-1]} cannot be installed: {done.stderr.strip()[-200:]}")

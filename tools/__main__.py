"""Run a program of this folder by its name, or list all of them."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from difflib import get_close_matches

from tools import ROOT

USAGE = """\
usage: python -m tools [--compiled] NAME [ARGUMENT]...

Run a program of tools/; `python -m tools NAME --help` shows its options.
--compiled compiles the hot modules into build/compiled first, and the program runs on them.
"""


def programs() -> dict[str, str]:
    """Return the modules that can be run, by the names of their programs."""
    names = {}
    for path in sorted((ROOT / "tools").rglob("*.py")):
        if not path.stem.startswith("__") and "\ndef main() -> None:" in path.read_text("utf-8"):
            names[path.stem.replace("_", "-")] = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return names


def summary(module: str) -> str:
    """Return the first line of a module's docstring, without importing it."""
    source = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def listing() -> str:
    """Return the names and first lines of all programs."""
    found = programs()
    width = max(map(len, found))
    return "".join(f"  {name:{width}}  {summary(module)}\n" for name, module in found.items())


def run_compiled(arguments: list[str]) -> int:
    """Compile the hot modules and run a program on them; return its exit status."""
    subprocess.run(
        [sys.executable, "hatch_build.py", "compile", "--tree", "build/compiled"], cwd=ROOT, check=True
    )
    path = os.pathsep.join((str(ROOT / "build/compiled"), str(ROOT)))
    command = [sys.executable, "-m", "tools", *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


def main(arguments: list[str]) -> None:
    """Run the program that the arguments name.

    Raises:
        SystemExit: with status 2, there is no program of this name.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(f"{USAGE}\n{listing()}")
        return
    name = arguments[0]
    if name == "--compiled":
        sys.exit(run_compiled(arguments[1:]))
    found = programs()
    if name not in found:
        near = get_close_matches(name, found, 1)
        hint = f"did you mean {near[0]}?" if near else "python -m tools lists all programs"
        sys.stderr.write(f"error: there is no program {name}: {hint}\n")
        sys.exit(2)
    # The matrices of these programs are small: threads would cost more than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.argv[:] = [f"python -m tools {name}", *arguments[1:]]
    try:
        program = importlib.import_module(found[name])
    except ModuleNotFoundError as error:
        sys.exit(f"error: {name} needs the package {error.name}: make setup or make envs installs it")
    has_own_help = hasattr(program, "argparse") or hasattr(program, "parser")
    if not has_own_help and {"-h", "--help"} & set(arguments):
        sys.stdout.write(f"{program.__doc__}\n")
    else:
        program.main()


if __name__ == "__main__":
    main(sys.argv[1:])

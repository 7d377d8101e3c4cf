"""What the SDKs depend on, by their lock files: components with licences, as CycloneDX.

The package of Python has such a list by uv, the jar by a plug-in of Maven, and the engine's wheel has its
own inside. The library in C++ takes gRPC and Protobuf from the system.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools import ROOT
from tools.release.licences import UNKNOWN

_GO_LICENCES = {
    "Apache License": "Apache-2.0",
    "Redistribution and use in source and binary forms": "BSD-3-Clause",
    " granted, free of charge, to any person": "MIT",
}
"""The words by which a module's licence is known, as modules state it by its text alone."""


class Component(NamedTuple):
    """A package that an SDK depends on."""

    purl: str
    """Its kind and name, as package URLs begin: https://github.com/package-url/purl-spec."""
    version: str
    licence: str
    """An expression of SPDX."""


def go_components() -> Iterator[Component]:
    """Yield the modules whose packages the SDK imports."""
    line = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"
    modules = _run("go", "list", "-deps", "-f", line, ".", folder="clients/go").split("\n")
    for module in sorted(filter(None, set(modules))):
        path, version, folder = module.split(" ", 2)
        text = (Path(folder) / "LICENSE").read_text(encoding="utf-8")
        licence = next((name for words, name in _GO_LICENCES.items() if words in text), UNKNOWN)
        yield Component(f"pkg:golang/{path}", version, licence)


def rust_components() -> Iterator[Component]:
    """Yield the crates of the lock file that are part of a bot, on any platform; those of tests are not."""
    command = ("cargo", "metadata", "--quiet", "--locked", "--format-version", "1", "--features", "engine")
    found = json.loads(_run(*command, folder="clients/rust"))
    nodes: Mapping[str, Any] = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = found["resolve"]["root"]
    reached, waiting = set[str](), [root]
    while waiting:
        if (crate := waiting.pop()) not in reached:
            reached.add(crate)
            used = (
                each for each in nodes[crate]["deps"] if any(not kind["kind"] for kind in each["dep_kinds"])
            )
            waiting += [each["pkg"] for each in used]
    for package in found["packages"]:
        if package["id"] in reached - {root}:
            licence = (package["license"] or UNKNOWN).replace(" / ", " OR ")
            yield Component(f"pkg:cargo/{package['name']}", package["version"], licence)


def typescript_components() -> Iterator[Component]:
    """Yield the packages of the lock file that are installed with the SDK."""
    lock = json.loads((ROOT / "clients/typescript/package-lock.json").read_text(encoding="utf-8"))
    for path, package in sorted(lock["packages"].items()):
        if path and not package.get("dev"):
            name = path.rpartition("node_modules/")[2].replace("@", "%40")
            yield Component(f"pkg:npm/{name}", package["version"], package.get("license", UNKNOWN))


COMPONENTS: Mapping[str, Callable[[], Iterator[Component]]] = {
    "go": go_components,
    "typescript": typescript_components,
    "rust": rust_components,
}
"""What lists the components, by languages."""


def bill(language: str, version: str) -> str:
    """Return the components of a language's SDK as a document of CycloneDX, the same each time."""
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "name": f"happycity ({language})", "version": version},
        },
        "components": [
            {
                "type": "library",
                "name": each.purl.partition("/")[2].replace("%40", "@"),
                "version": each.version,
                "purl": f"{each.purl}@{each.version}",
                "licenses": [{"expression": each.licence}],
            }
            for each in COMPONENTS[language]()
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _run(*command: str, folder: str) -> str:
    return subprocess.run(command, cwd=ROOT / folder, check=True, stdout=subprocess.PIPE, text=True).stdout

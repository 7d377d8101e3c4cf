"""The page of the contract: every service, message and enum of proto/happycity with its comments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

PACKAGES = ("happycity.v1", "happycity.tournament.v1beta1", "happycity.ladder.v1beta1")
"""The public ones, in the order of the page; no name is in two of them."""
_TYPES = {number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()}
# The numbers of fields in descriptor.proto, of which the paths to comments consist.
_MESSAGES, _ENUMS, _SERVICES = 4, 5, 6
_FIELDS, _NESTED, _NESTED_ENUMS = 2, 3, 4
_VALUES, _METHODS = 2, 2
Path_ = tuple[int, ...]


def contract_page(root: Path) -> str:
    """Return the page, as Markdown."""
    files = descriptors(root).file
    parts = [
        "# The contract",
        "Every service and message of the public packages, from the files in `proto/happycity/`. "
        "[The protocol](../protocol.md) says how they are used, and which of them may change.",
    ]
    for package in PACKAGES:
        for file in files:
            if file.package == package:
                parts += FilePart(file).lines()
    return "\n\n".join(parts) + "\n"


def descriptors(root: Path) -> FileDescriptorSet:
    """Return the descriptors of the contract, with their comments."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / "contract.binpb"
        buf = Path(sys.executable).with_name("buf")
        subprocess.run([buf, "build", "--output", target], cwd=root, check=True)
        return FileDescriptorSet.FromString(target.read_bytes())


class FilePart:
    """The part of the page that shows one file."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._comments = {
            tuple(place.path): " ".join(place.leading_comments.split())
            for place in file.source_code_info.location
            if place.leading_comments
        }

    def lines(self) -> Iterator[str]:
        """Yield the paragraphs: services first, then messages, then enums."""
        yield f"## {self._file.name.removeprefix('happycity/')}"
        yield self._comments.get((2,), "")
        for index, service in enumerate(self._file.service):
            yield from self._service(service, (_SERVICES, index))
        for index, message in enumerate(self._file.message_type):
            yield from self._message(message, (_MESSAGES, index), "")
        for index, enum in enumerate(self._file.enum_type):
            yield from self._enum(enum, (_ENUMS, index), "")

    def _service(self, service: ServiceDescriptorProto, path: Path_) -> Iterator[str]:
        yield from self._headed(service.name, path)
        yield table(
            ("call", "gets", "returns", ""),
            (
                (
                    f"`{method.name}`",
                    ("stream of " if method.client_streaming else "") + reference(method.input_type),
                    ("stream of " if method.server_streaming else "") + reference(method.output_type),
                    self._comment((*path, _METHODS, index)),
                )
                for index, method in enumerate(service.method)
            ),
        )

    def _message(self, message: DescriptorProto, path: Path_, outer: str) -> Iterator[str]:
        name = outer + message.name
        yield from self._headed(name, path)
        maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
        if message.field:
            yield table(
                ("field", "type", ""),
                (
                    (f"`{field.name}`", type_of(field, maps), self._comment((*path, _FIELDS, index)))
                    for index, field in enumerate(message.field)
                ),
            )
        for index, nested in enumerate(message.nested_type):
            if nested.name not in maps:
                yield from self._message(nested, (*path, _NESTED, index), f"{name}.")
        for index, enum in enumerate(message.enum_type):
            yield from self._enum(enum, (*path, _NESTED_ENUMS, index), f"{name}.")

    def _enum(self, enum: EnumDescriptorProto, path: Path_, outer: str) -> Iterator[str]:
        yield from self._headed(outer + enum.name, path)
        yield table(
            ("value", "number", ""),
            (
                (f"`{value.name}`", str(value.number), self._comment((*path, _VALUES, index)))
                for index, value in enumerate(enum.value)
            ),
        )

    def _headed(self, name: str, path: Path_) -> Iterator[str]:
        yield f"### {name} {{ #{anchor(name)} }}"
        if comment := self._comment(path):
            yield comment

    def _comment(self, path: Path_) -> str:
        return self._comments.get(path, "")


def anchor(name: str) -> str:
    """Return the anchor of a message, enum or service by its name within the package."""
    return name.lower().replace(".", "-")


def reference(full_name: str) -> str:
    """Return the name of a message or enum, with a link to it if it is in the contract."""
    package = next((name for name in PACKAGES if full_name.startswith(f".{name}.")), None)
    if package is None:
        return f"`{full_name.lstrip('.')}`"
    name = full_name.removeprefix(f".{package}.")
    return f"[{name}](#{anchor(name)})"


def type_of(field: FieldDescriptorProto, maps: dict[str, DescriptorProto]) -> str:
    """Return the type of a field with its label."""
    entry = maps.get(field.type_name.rpartition(".")[2])
    if entry is not None:
        key, value = (type_of(part, {}) for part in entry.field)
        return f"map from {key} to {value}"
    name = reference(field.type_name) if field.type_name else f"`{_TYPES[field.type]}`"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def table(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a table; a bar in a cell doesn't end it."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

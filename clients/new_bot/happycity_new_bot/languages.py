"""What a bot's project looks like in each language: its tools, its commands, and how it names the SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

GO_MODULE = "github.com/happycity-arena/happycity/clients/go"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What fills a project's templates."""

    package: str
    """The project's name as package managers take it."""
    version: str
    """The SDK's."""
    checkout: Path | None
    """The checkout of this project from which the SDK is taken; None: the published package."""

    def sdk(self, folder: str) -> str:
        """Return the path of an SDK in the checkout."""
        assert self.checkout is not None
        return (self.checkout / "clients" / folder).as_posix()


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language in which a bot's project can be made."""

    title: str
    source: str
    """The file with the bot's choice."""
    example: str
    """The SDK's own first bot, which becomes it: below clients/."""
    tools: str
    """What the project needs on the machine."""
    command: str
    """What starts the bot, in the project's folder; $package is the project's name."""
    submitted: tuple[str, ...]
    """The files with which it starts elsewhere, as patterns."""
    build: Callable[[Names], tuple[str, ...]]
    """The commands that build the bot."""
    fields: Callable[[Names], Mapping[str, str]] = lambda _: {}
    """Fields of the language's own templates."""
    sdk_folders: tuple[str, ...] = ()
    """What an image needs of a checkout."""
    packages: str = ""
    """Packages of Debian that GitHub's machines lack; they have Go, Node.js, Rust, Java and Maven."""


def _python_requirement(names: Names, extra: str = "") -> str:
    return f"happycity{extra}" if names.checkout is None else f"happycity{extra} @ {names.checkout.as_uri()}"


def _go_fields(names: Names) -> dict[str, str]:
    return {"replace": "" if names.checkout is None else f"\nreplace {GO_MODULE} => {names.sdk('go')}"}


def _typescript_build(names: Names) -> tuple[str, ...]:
    if names.checkout is None:
        return ("npm install",)
    sdk = names.sdk("typescript")
    return (
        f"test -d {sdk}/dist || (cd {sdk} && npm ci && npm run build)",
        "npm install --install-links=false",
    )


def _java_build(names: Names) -> tuple[str, ...]:
    package = "mvn -q -B -ntp package"
    if names.checkout is None:
        return (package,)
    return (f"mvn -q -B -ntp -f {names.sdk('java')} -pl happycity -am install -Dmaven.test.skip", package)


def _cpp_fields(names: Names) -> dict[str, str]:
    if names.checkout is None:
        return {"find_sdk": "find_package(happycity REQUIRED)"}
    return {"find_sdk": f"add_subdirectory({names.sdk('cpp')} happycity)"}


def _rust_requirement(names: Names) -> str:
    return f'"{names.version}"' if names.checkout is None else f'{{ path = "{names.sdk("rust")}" }}'


def _npm_requirement(names: Names) -> str:
    return f"^{names.version}" if names.checkout is None else f"file:{names.sdk('typescript')}"


_PYTHON_SDK = (
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    "game",
    "server",
    "tournament",
    "ladder",
    "clients",
    "viewer",
    "web",
)

LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        title="Python",
        source="bot.py",
        example="python/examples/first.py",
        tools="Python 3.11 or later",
        command="python bot.py",
        submitted=("*.py",),
        # Where it is installed already, as in the environment of a checkout, pip must not change it.
        build=lambda _: (
            'python -c "import happycity_client" 2> /dev/null'
            " || python -m pip install --quiet -r requirements.txt",
        ),
        fields=lambda names: {"requirement": _python_requirement(names)},
        sdk_folders=_PYTHON_SDK,
    ),
    "go": Language(
        title="Go",
        source="main.go",
        example="go/examples/first/main.go",
        tools="Go 1.26 or later",
        command="./bot",
        submitted=("bot",),
        build=lambda _: ("go mod tidy", "go build -o bot ."),
        fields=_go_fields,
        sdk_folders=("clients/go",),
    ),
    "typescript": Language(
        title="TypeScript or JavaScript",
        source="bot.mjs",
        example="typescript/examples/first.ts",
        tools="Node.js 18 or later",
        command="node bot.mjs",
        submitted=("*.mjs", "package.json", "node_modules/**/*"),
        build=_typescript_build,
        fields=lambda names: {"requirement": _npm_requirement(names)},
        sdk_folders=("clients/typescript",),
    ),
    "rust": Language(
        title="Rust",
        source="src/main.rs",
        example="rust/examples/first.rs",
        tools="Rust 1.88 or later",
        command="target/release/$package",
        submitted=("target/release/$package",),
        build=lambda _: ("cargo build --quiet --release",),
        fields=lambda names: {"requirement": _rust_requirement(names)},
        sdk_folders=("clients/rust",),
    ),
    "java": Language(
        title="Java",
        source="src/main/java/First.java",
        example="java/examples/src/main/java/First.java",
        tools="Java 17 and Maven 3.8, or later ones",
        command="java -cp target/bot.jar:target/lib/* First",
        submitted=("target/bot.jar", "target/lib/*.jar"),
        build=_java_build,
        sdk_folders=("clients/java", "clients/conformance", "proto"),
    ),
    "cpp": Language(
        title="C++",
        source="bot.cpp",
        example="cpp/examples/first.cpp",
        tools="CMake 3.22, a compiler of C++20, gRPC and Protobuf",
        command="build/bot",
        submitted=("build/bot",),
        build=lambda _: (
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "cmake --build build --parallel 2",
        ),
        fields=_cpp_fields,
        sdk_folders=("clients/cpp", "clients/conformance", "proto"),
        packages="cmake g++ libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc",
    ),
    "bridge": Language(
        title="any language, by lines of JSON; this one is in bash with jq",
        source="bot.sh",
        example="examples/bash/first.sh",
        tools="bash and jq",
        command="happycity bridge -- bash bot.sh",
        submitted=("bot.sh",),
        build=lambda _: ("@:",),
        fields=lambda names: {"requirement": _python_requirement(names, "[arena]")},
        sdk_folders=_PYTHON_SDK,
    ),
}

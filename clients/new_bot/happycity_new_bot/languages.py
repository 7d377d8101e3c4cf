"""What a bot's project looks like in each language: its tools, its commands, and how it names the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

REPOSITORY = "https://github.com/happycity-arena/happycity"
GO_MODULE = "github.com/happycity-arena/happycity/clients/go"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLanguage:
    """A language in which a bot's project can be made.

    In its texts, $package and $version are those of the project and of the SDK. Where the SDK is taken from
    a checkout, $checkout is its URI, and $sdk the path of the SDK there.
    """

    title: str
    source: str
    """The file with the bot's choice."""
    example: str
    """The SDK's own first bot, which becomes it: below clients/."""
    tools: str
    """What the project needs on the machine."""
    command: str
    """What starts the bot, in the project's folder."""
    submitted: tuple[str, ...]
    """The files with which it starts elsewhere, as patterns."""
    build: tuple[str, ...]
    """The commands that build the bot."""
    test: tuple[str, ...]
    """The commands that test it, once it is built."""
    requirement: str = ""
    """What the project's files call the SDK of a checkout."""
    released: str = ""
    """What they call the SDK's release of this version, in the registry of the language."""
    sdk_build: tuple[str, ...] = ()
    """The commands that build the SDK of a checkout at first."""
    sdk_folders: tuple[str, ...] = ()
    """What an image needs of a checkout."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further files of the project, each with its example."""
    packages: str = ""
    """Packages of Debian that GitHub's machines lack; they have Go, Node.js, Rust, Java and Maven."""
    image_packages: str = ""
    """What the image installs before the SDK of a checkout."""
    bot: str = ""
    """The bot in the project's test."""
    does: str = "It buys the most expensive card on offer, and takes any special"
    """What the bot does."""
    card: str = "spa"
    """The card that it builds in the decision of the project's test."""
    search: Mapping[str, Any]
    """What is different in the project of the bot that searches."""

    def searching(self) -> ProjectLanguage:
        """Return the language's project whose bot searches."""
        does = "It plays moves out in sampled worlds, and chooses the one that does best"
        return replace(self, does=does, card="perfumery", **self.search)


_JAVA = "java -XX:TieredStopAtLevel=1"
"""Without the optimising compiler of Java 17, in whose code the native engine traps now and then."""
_BUILT_BY = "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"
_PACKAGES = "game", "runtime", "evaluation", "tournament", "ladder", "league", "server", "viewer", "web"
_PYTHON_SDK = (*_BUILT_BY, *_PACKAGES, "clients")

# Where it is installed already, as in the environment of a checkout, pip must not change it.
_PYTHON_BUILD = (
    'python -c "import happycity_client" 2> /dev/null || python -m pip install --quiet --editable .',
)
_ENGINE = 'python -c "import happycity_engine" 2> /dev/null || python -m pip install --quiet $engine'
_CARGO = (
    "RUN apt-get update && apt-get install -y --no-install-recommends cargo && rm -rf /var/lib/apt/lists/*"
)
# No registry has packages of CMake: what isn't installed comes from the files of the release.
_INSTALLED_OR_FETCHED = f"""\
find_package(happycity $version EXACT QUIET)
if(NOT happycity_FOUND)
  include(FetchContent)
  FetchContent_Declare(happycity URL {REPOSITORY}/releases/download/v$version/happycity-cpp-$version.tar.gz)
  FetchContent_MakeAvailable(happycity)
endif()"""

LANGUAGES: Mapping[str, ProjectLanguage] = {
    "python": ProjectLanguage(
        title="Python",
        source="bot.py",
        example="python/examples/first.py",
        tools="Python 3.11 or later",
        command="python bot.py",
        submitted=("*.py",),
        build=_PYTHON_BUILD,
        test=(
            'python -c "import pytest" 2> /dev/null || python -m pip install --quiet pytest',
            "python -m pytest --quiet",
        ),
        requirement="happycity @ $checkout",
        released="happycity==$version",
        sdk_folders=_PYTHON_SDK,
        bot="First",
        search={
            "example": "python/examples/searcher.py",
            "tools": "Python 3.11 and Rust 1.63, or later ones",
            "build": (*_PYTHON_BUILD, _ENGINE),
            "requirement": 'happycity @ $checkout", "happycity-engine @ $checkout/engine/python',
            "released": "happycity[engine]==$version",
            "sdk_folders": (*_PYTHON_SDK, "engine"),
            "image_packages": _CARGO,
            "bot": "Searcher",
        },
    ),
    "go": ProjectLanguage(
        title="Go",
        source="main.go",
        example="go/examples/first/main.go",
        tools="Go 1.26 or later",
        command="./bot",
        submitted=("bot",),
        build=("go mod tidy", "go build -o bot ."),
        test=("go test ./...",),
        requirement=f"\nreplace {GO_MODULE} => $sdk",
        sdk_folders=("clients/go",),
        bot="happycity.Stateless(choose)",
        search={
            "source": "searcher.go",
            "example": "go/examples/searcher/searcher.go",
            "more": {"main.go": "go/examples/searcher/main.go"},
            "bot": "newSearcher",
        },
    ),
    "typescript": ProjectLanguage(
        title="TypeScript",
        source="bot.ts",
        example="typescript/examples/first.ts",
        tools="Node.js 18 or later",
        command="node dist/bot.js",
        submitted=("dist/*.js", "package.json", "node_modules/**/*"),
        build=(
            "npm install --install-links=false --no-audit --no-fund --loglevel=error",
            "npx tsc",
        ),
        test=("npm test --silent",),
        requirement="file:$sdk",
        released="$version",
        sdk_build=("test -d $sdk/dist || (cd $sdk && npm ci && npm run build)",),
        sdk_folders=("clients/typescript",),
        bot="() => choose",
        search={
            "source": "searcher-rule.ts",
            "example": "typescript/examples/searcher-rule.ts",
            "more": {"bot.ts": "typescript/examples/searcher.ts"},
            "bot": "searcher",
        },
    ),
    "rust": ProjectLanguage(
        title="Rust",
        source="src/main.rs",
        example="rust/examples/first.rs",
        tools="Rust 1.88 or later",
        command="target/release/$package",
        submitted=("target/release/$package",),
        build=("cargo build --quiet --release",),
        test=("cargo test --quiet --release",),
        requirement='{ path = "$sdk" }',
        released='"$version"',
        sdk_folders=("clients/rust", "engine"),
        bot="|_| bot::choose",
        search={
            "example": "rust/examples/searcher.rs",
            "requirement": '{ path = "$sdk", features = ["engine"] }',
            "released": '{ version = "$version", features = ["engine"] }',
            "bot": "bot::searcher",
        },
    ),
    "java": ProjectLanguage(
        title="Java",
        source="src/main/java/First.java",
        example="java/examples/src/main/java/First.java",
        tools="Java 17 and Maven 3.8, or later ones",
        command=f"{_JAVA} -cp target/bot.jar:target/lib/* First",
        submitted=("target/bot.jar", "target/lib/*.jar"),
        build=("mvn -q -B -ntp package -Dmaven.test.skip",),
        test=("mvn -q -B -ntp test",),
        # Once, as for TypeScript: it takes longer than all the rest.
        sdk_build=("test -d target || mvn -q -B -ntp -f $sdk -pl happycity -am install -Dmaven.test.skip",),
        sdk_folders=("clients/java", "clients/conformance", "engine/c", "proto"),
        bot="BotFactory.stateless(First::choose)",
        search={
            "source": "src/main/java/Searcher.java",
            "example": "java/examples/src/main/java/Searcher.java",
            "command": f"{_JAVA} -cp target/bot.jar:target/lib/* Searcher",
            "bot": "Searcher::new",
        },
    ),
    "cpp": ProjectLanguage(
        title="C++",
        source="bot.cpp",
        example="cpp/examples/first.cpp",
        tools="CMake 3.22, a compiler of C++20, gRPC and Protobuf",
        command="build/bot",
        submitted=("build/bot",),
        build=("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build --parallel 2"),
        test=("build/bot_test",),
        requirement="add_subdirectory($sdk happycity)",
        released=_INSTALLED_OR_FETCHED,
        sdk_folders=("clients/cpp", "clients/conformance", "engine/c", "engine/src", "proto"),
        bot="choose",
        search={
            "example": "cpp/examples/searcher.cpp",
            "tools": "CMake 3.22, a compiler of C++20, gRPC and Protobuf, and Rust 1.63",
            "bot": "happycity::factory_of<Searcher>()",
        },
        packages="cmake g++ libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc",
    ),
    "bridge": ProjectLanguage(
        title="any language, by lines of JSON; this one is in bash with jq",
        source="bot.sh",
        example="examples/bash/first.sh",
        tools="bash and jq",
        command="happycity bridge -- bash bot.sh",
        submitted=("bot.sh",),
        build=("@:",),
        test=("$$(HAPPYCITY) ask first.decision --bot '$$(BOT)' | grep 'build $card_name'",),
        requirement="happycity[arena] @ $checkout",
        released="happycity[arena]==$version",
        sdk_folders=_PYTHON_SDK,
        search={
            "example": "examples/bash/searcher.sh",
            "tools": "bash, jq, and Rust 1.63 or later",
            "build": (_ENGINE,),
            "requirement": "happycity[arena] @ $checkout' '$checkout/engine/python",
            "released": "happycity[arena,engine]==$version",
            "sdk_folders": (*_PYTHON_SDK, "engine"),
            "image_packages": _CARGO,
        },
    ),
}

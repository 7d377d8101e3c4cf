# The arena's server in a small image: built as a compiled wheel, run from the wheel alone, not as root.
# Any image with Python 3.11 or newer and its module venv; `tools/release/build-image` takes one of Debian's packages.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
# What compiles the hot modules. A base whose Python is Debian's own needs python3-dev, too.
ARG COMPILER="gcc libc6-dev"
# The one of uv.lock.
ARG UV=0.13.8
# The certificates of the system, where a proxy has its own.
ENV UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=1
WORKDIR /src
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ${COMPILER} \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir uv==${UV}
# The locked versions of what the wheel needs; made again only when they change.
COPY pyproject.toml uv.lock hatch_build.py README.md LICENSE ./
RUN /opt/uv/bin/uv export --frozen --extra web --extra postgresql --no-dev --no-emit-project --quiet --output-file requirements.txt \
    && /opt/uv/bin/uv venv --python python3 /opt/happycity \
    && /opt/uv/bin/uv pip install --no-cache --python /opt/happycity --compile-bytecode --requirement requirements.txt
# The wheel itself, with its hot modules compiled.
COPY game ./game
COPY runtime ./runtime
COPY evaluation ./evaluation
COPY server ./server
COPY tournament ./tournament
COPY ladder ./ladder
COPY league ./league
COPY clients ./clients
COPY docs/league.md docs/rules.md docs/writing-a-bot.md ./docs/
COPY viewer ./viewer
COPY web ./web
RUN HAPPYCITY_COMPILE=1 /opt/uv/bin/uv build --no-cache --wheel --out-dir /dist \
    && /opt/uv/bin/uv pip install --no-cache --python /opt/happycity --compile-bytecode --no-deps /dist/*.whl

FROM ${BASE}
ARG BASE
ARG VERSION=0.1.0
ARG REVISION=""
LABEL org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.title="Happy City arena" \
      org.opencontainers.image.description="A gRPC arena for bots that play the card game Happy City" \
      org.opencontainers.image.licenses="MIT AND OFL-1.1" \
      org.opencontainers.image.source="https://github.com/happycity-arena/happycity" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# For hosted bots, where the container may make user namespaces.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap util-linux \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --no-create-home --home-dir /data --uid 10001 --user-group happycity \
    && install --directory --owner 10001 --group 10001 /data
COPY --from=build /opt/happycity /opt/happycity
# All of the container's addresses: such a server needs tokens and TLS, see docs/operations.md#in-a-container.
# Nothing is written but to /data, so the root may be read-only.
ENV PATH=/opt/happycity/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HAPPYCITY_SERVE_LISTEN=0.0.0.0:50051 \
    HAPPYCITY_SERVE_STORE=sqlite:////data/happycity.sqlite \
    HAPPYCITY_SERVE_LOG=json
# By number, as Kubernetes can't tell from a name that it isn't root.
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 50051 8080 9464
STOPSIGNAL SIGTERM
# With TLS it needs HAPPYCITY_SERVER=grpcs://127.0.0.1:50051, HAPPYCITY_CA and HAPPYCITY_SERVER_NAME.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["happycity", "status", "--health"]
ENTRYPOINT ["happycity"]
CMD ["serve"]

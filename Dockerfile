# The arena's server in a small image: built as a compiled wheel, run from the wheel alone, not as root.
FROM python:3.13-slim AS build
WORKDIR /src
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv
COPY pyproject.toml uv.lock hatch_build.py README.md LICENSE ./
COPY game ./game
COPY server ./server
COPY tournament ./tournament
COPY clients ./clients
COPY web ./web
# The locked versions of what the wheel needs, then the wheel itself, with its hot modules compiled.
RUN uv export --frozen --extra web --no-dev --no-emit-project --quiet --output-file requirements.txt \
    && uv venv /opt/happycity \
    && uv pip install --python /opt/happycity --compile-bytecode --requirement requirements.txt \
    && HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 uv build --wheel --out-dir /dist \
    && uv pip install --python /opt/happycity --compile-bytecode --no-deps /dist/*.whl

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 happycity && mkdir /data && chown happycity /data
COPY --from=build /opt/happycity /opt/happycity
# All of the container's addresses: such a server wants tokens and TLS, see docs/operations.md#in-a-container.
ENV PATH=/opt/happycity/bin:$PATH \
    HAPPYCITY_SERVE_LISTEN=0.0.0.0:50051 \
    HAPPYCITY_SERVE_STORE=sqlite:////data/happycity.sqlite \
    HAPPYCITY_SERVE_LOG=json
USER happycity
# The tokens are kept in runs/tokens.json below it.
WORKDIR /data
VOLUME /data
EXPOSE 50051
# With TLS it needs HAPPYCITY_CA (or HAPPYCITY_TLS=1) and HAPPYCITY_SERVER_NAME.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["happycity", "health"]
ENTRYPOINT ["happycity"]
CMD ["serve"]

# The arena's server in a small image: built as a wheel, run from the wheel alone, not as root.
FROM python:3.13-slim AS build
WORKDIR /src
RUN pip install --no-cache-dir uv
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY game ./game
COPY server ./server
COPY tournament ./tournament
COPY clients ./clients
# The locked versions of what the wheel needs, then the wheel itself.
RUN uv export --frozen --no-dev --no-emit-project --quiet --output-file requirements.txt \
    && uv venv /opt/happycity \
    && uv pip install --python /opt/happycity --compile-bytecode --requirement requirements.txt \
    && uv build --wheel --out-dir /dist \
    && uv pip install --python /opt/happycity --compile-bytecode --no-deps /dist/*.whl

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 happycity && mkdir /data && chown happycity /data
COPY --from=build /opt/happycity /opt/happycity
ENV PATH=/opt/happycity/bin:$PATH
USER happycity
WORKDIR /data
VOLUME /data
EXPOSE 50051
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s \
    CMD ["happycity", "health", "127.0.0.1:50051"]
# Listens on all of the container's addresses: publish the port on loopback, as there is no access control yet.
ENTRYPOINT ["happycity"]
CMD ["serve", "--listen", "0.0.0.0:50051", "--store", "sqlite:////data/happycity.sqlite", "--log", "json"]

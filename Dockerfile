# Two stages: what is pinned by hash is installed in the first, the second holds nothing but the result.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/kgsvc
RUN /opt/kgsvc/bin/pip install --disable-pip-version-check --require-hashes -r requirements.txt -r requirements-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY kgsvc kgsvc
RUN /opt/kgsvc/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation .
RUN /opt/kgsvc/bin/pip uninstall --yes setuptools pip

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home --home-dir /data --shell /usr/sbin/nologin kgsvc
COPY --from=build /opt/kgsvc /opt/kgsvc
# Nobody outside the container reaches it until a port is published; listening beyond loopback without TLS or
# without credentials needs KGSVC_SERVER_INSECURE=true on top (compose.yaml sets it and publishes to this machine only).
ENV PATH=/opt/kgsvc/bin:$PATH \
    KGSVC_SERVER_LISTEN=0.0.0.0:50051 \
    KGSVC_SERVER_METRICS_LISTEN=0.0.0.0:9464 \
    KGSVC_STORE_DATA_DIR=/data
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 50051 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["kgsvc", "health", "--timeout", "3"]
CMD ["kgsvc", "serve"]

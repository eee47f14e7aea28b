# Two stages: what is pinned by hash is installed in the first, the second holds nothing but the result.
#
# The base of both, in one place: the list of images for all platforms of python:3.13.15-slim-trixie, 2026-09-30. The digest
# of a newer one: docker buildx imagetools inspect python:3.13-slim --format '{{.Manifest.Digest}}'
ARG BASE=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${BASE} AS build
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/kgsvc && \
    /opt/kgsvc/bin/pip install --disable-pip-version-check --require-hashes -r requirements.txt -r requirements-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY kgsvc kgsvc
RUN /opt/kgsvc/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation . && \
    /opt/kgsvc/bin/pip uninstall --yes setuptools pip

FROM ${BASE}
RUN useradd --uid 10001 --create-home --home-dir /data --shell /usr/sbin/nologin kgsvc
COPY --from=build /opt/kgsvc /opt/kgsvc
# Nobody outside the container reaches it until a port is published; listening beyond loopback without TLS or
# without credentials needs KGSVC_SERVER_INSECURE=true on top (compose.yaml sets it and publishes to this machine only).
# Nothing is written but to /data and /tmp: run it with a read-only root and without capabilities. Secrets come from files
# that KGSVC_..._FILE name.
ENV PATH=/opt/kgsvc/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
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

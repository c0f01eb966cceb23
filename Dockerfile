# crofter from its lock file. The first stage installs, the second has only what was installed, and runs as nobody special.
FROM python:3.11-slim AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/crofter UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.7
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY tools/wheel.py tools/console.py tools/node.py tools/npm_packages.py ./tools/
COPY console ./console
RUN uv run --locked --only-group console python tools/console.py && test -f console/dist/licences.txt
COPY src ./src
RUN uv sync --locked --no-dev --extra pdf --extra postgres --no-editable --compile-bytecode --no-cache \
 && /opt/crofter/bin/python -m crofter.statements

FROM python:3.11-slim
RUN useradd --uid 8420 --user-group --no-create-home --home-dir /data crofter \
    && install -d -o crofter -g crofter -m 0700 /data
COPY --from=build /opt/crofter /opt/crofter
ENV PATH=/opt/crofter/bin:$PATH PYTHONDONTWRITEBYTECODE=1 CROFTER_DATA=/data CROFTER_HOST=0.0.0.0 CROFTER_PORT=8420
USER 8420:8420
WORKDIR /data
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=6s --start-period=20s --retries=3 CMD ["crofter", "health"]
STOPSIGNAL SIGTERM
CMD ["crofter", "serve", "--container"]

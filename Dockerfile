# `limbeck serve` in a small image, without PyTorch and without a model: the model is mounted at /model.
#
#   docker build -t limbeck .
#   docker run --rm -p 8000:8000 -v "$PWD/runs/reviews/models/best:/model:ro" limbeck --workers 2
#
# docs/deploying.md has the rest.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
# The compiler builds the native engine, and stays in this stage. Its version is not pinned: mirrors keep the newest only.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY constraints.txt ./
COPY requirements/base.txt requirements/build.txt requirements/
# What runs models is taken by its hashes. This layer is built again only when a version changes.
RUN python -m venv --without-pip /opt/limbeck \
    && pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && pip --python /opt/limbeck/bin/python install --no-cache-dir --require-hashes -r requirements/base.txt
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
    && pip --python /opt/limbeck/bin/python install --no-cache-dir -c constraints.txt "$(echo /wheels/*.whl)[serve]"

FROM python:${PYTHON}-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin limbeck
COPY --from=build /opt/limbeck /opt/limbeck
ENV PATH="/opt/limbeck/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/livez', timeout=2)"]
# The exec form: the server is process 1 and receives SIGTERM itself. Options of `docker run` are added behind it.
ENTRYPOINT ["limbeck", "serve", "/model", "--host", "0.0.0.0", "--port", "8000"]

# The API (`cairn serve`), the worker (`cairn worker`) and the migrations (`cairn migrate`) are one image. It keeps no
# state: the stores are elsewhere, and the file system may be read-only.
FROM python:3.12-slim AS build
WORKDIR /srv/cairn
RUN python -m venv .venv
COPY requirements.lock .
RUN .venv/bin/pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: -r requirements.lock
COPY . .
RUN .venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --no-index -e . \
    && .venv/bin/python -m compileall -q app

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin cairn
COPY --from=build /srv/cairn /srv/cairn
WORKDIR /srv/cairn
ENV PATH="/srv/cairn/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8000
CMD ["cairn", "serve"]

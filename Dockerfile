# One image for web processes, workers and migrations; compose.yaml uses it.
FROM python:3.11-slim AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv
COPY requirements.lock /
# For HITL_PROVIDER=openai and openai-responses: docker compose build --build-arg PACKAGE="openai>=3.54,<4"
ARG PACKAGE=""
RUN /venv/bin/pip install -r /requirements.lock && if [ "$PACKAGE" ]; then /venv/bin/pip install "$PACKAGE"; fi

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent pausepoint
COPY --from=packages /venv /venv
WORKDIR /app
COPY manage.py ./
COPY hitlsite hitlsite
COPY approvals approvals
COPY chats chats
COPY templates templates
COPY locale locale
# Bytecode and static files are built here, by root, because containers run on a read-only file system.
RUN python -m compileall -q hitlsite approvals chats \
 && SECRET_KEY=only-while-the-image-is-built-never-later DATABASE_URL=sqlite:////tmp/none.sqlite3 python manage.py collectstatic --no-input --verbosity 0
RUN install --directory --mode 700 --owner pausepoint var/attachments
USER 10001
EXPOSE 8000
# Checks only that the process responds. /readyz reports outages of the database, which a restart would not fix.
HEALTHCHECK --interval=10s --timeout=5s --start-period=40s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]

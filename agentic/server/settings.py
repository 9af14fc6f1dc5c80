"""Django's settings, from the environment (`PM_…`). Nothing here starts or connects anything."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from agentic.core.notice import KNOWN_LIMITS
from agentic.server import environment, logs
from agentic.server.embedded import EmbeddedPostgres

BASE_DIR = environment.PROJECT
PM_DATA = environment.data_folder()
PM_DATABASE_URL = environment.text("PM_DATABASE_URL")
PM_EMBEDDED = not PM_DATABASE_URL
# The login of the role `eraser`, for the commands that erase; on embedded defaults it needs no address.
PM_ERASER_DATABASE_URL = environment.text("PM_ERASER_DATABASE_URL")
PM_DATABASE_NAME = environment.text("PM_DATABASE_NAME", "mailsearch")
PM_POOL_SIZE = environment.number("PM_POOL_SIZE", 10, low=1, high=100)

# Requests a second, soft and in each process.
PM_RATE_CALLER = environment.number("PM_RATE_CALLER", 10, low=1, high=10_000)
PM_RATE_TENANT = environment.number("PM_RATE_TENANT", 50, low=1, high=10_000)
# How often a stream that has nothing to tell says so, and looks at its reader's key again.
PM_STREAM_SECONDS = environment.number("PM_STREAM_SECONDS", 15, low=1, high=15)

PM_AGENT_MODEL = environment.text("PM_AGENT_MODEL")
PM_AGENT_FALLBACK_MODEL = environment.text("PM_AGENT_FALLBACK_MODEL")
PM_AGENT_BASE_URL = environment.text("PM_AGENT_BASE_URL")
PM_AGENT_API_TOKEN = environment.text("PM_AGENT_API_TOKEN")
PM_CLOUDFLARE_ACCOUNT_ID = environment.text("PM_CLOUDFLARE_ACCOUNT_ID")
# How much mail one search shows to the model; less suits a model with a small window.
PM_AGENT_RESULT_CHARACTERS = environment.number("PM_AGENT_RESULT_CHARACTERS", 12_000, low=2_000, high=100_000)
PM_EMBEDDING_MODEL = environment.text("PM_EMBEDDING_MODEL")
PM_EMBEDDING_BASE_URL = environment.text("PM_EMBEDDING_BASE_URL")
PM_EMBEDDING_API_TOKEN = environment.text("PM_EMBEDDING_API_TOKEN")

SECRET_KEY = environment.secret_key(embedded=PM_EMBEDDED)
DEBUG = environment.flag("PM_DEBUG")
if DEBUG and not PM_EMBEDDED:
    raise ImproperlyConfigured("PM_DEBUG must be off where PM_DATABASE_URL is set.")
ALLOWED_HOSTS = environment.allowed_hosts(embedded=PM_EMBEDDED)
# Signs the audit's seals; former public keys still check what they signed.
PM_AUDIT_KEY = environment.audit_key(embedded=PM_EMBEDDED)
PM_AUDIT_FORMER_KEYS = environment.former_keys()

INSTALLED_APPS = [
    "agentic.server.apps.AuditedAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "django_eventstream",
    "mailsearch",
    "agentic",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
]
ROOT_URLCONF = "agentic.server.urls"
ASGI_APPLICATION = "agentic.server.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def _database() -> dict[str, Any]:
    if PM_EMBEDDED:
        return {
            "NAME": PM_DATABASE_NAME,
            "USER": f"{PM_DATABASE_NAME}_app",
            "HOST": str(EmbeddedPostgres(PM_DATA).socket),
        }
    try:
        parts = conninfo_to_dict(PM_DATABASE_URL)
    except ProgrammingError as error:
        raise ImproperlyConfigured("PM_DATABASE_URL is no connection string that libpq understands.") from error
    return {
        "NAME": parts.get("dbname", ""),
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": parts.get("port", ""),
    }


DATABASES = {
    "default": {
        "ENGINE": "agentic.server.database",
        **_database(),
        # The ORM composes its statements anew: one that is prepared is rarely asked again.
        "OPTIONS": {"prepare_threshold": None, "pool": {"min_size": 0, "max_size": PM_POOL_SIZE, "timeout": 10}},
        "CONN_MAX_AGE": 0,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AUTHENTICATION_BACKENDS = ["agentic.sign_in.LimitedBackend"]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
# Collected files where a folder for them is named; else they are served from where they lie.
STATIC_ROOT = environment.text("PM_STATIC_ROOT") or None
WHITENOISE_USE_FINDERS = STATIC_ROOT is None
STATICFILES_DIRS = [BASE_DIR / "static"]

PM_HTTPS = environment.flag("PM_HTTPS", default=not PM_EMBEDDED)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PM_HTTPS
SECURE_SSL_REDIRECT = PM_HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PM_HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if PM_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PM_HTTPS
SESSION_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

REST_FRAMEWORK: dict[str, Any] = {
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "agentic.web.openapi.Schema",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "mailsearch",
    "DESCRIPTION": "Answers from mail, every sentence cited and the citation verified by code. " + KNOWN_LIMITS,
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SERVE_AUTHENTICATION": [],
    "SCHEMA_PATH_PREFIX": "/v1",
    "POSTPROCESSING_HOOKS": ["agentic.web.openapi.complete"],
}

# A request's body; mail that is put in has a limit of its own.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

# Who may read /metrics: by token, or at an address of its own; without both nobody.
PM_METRICS_TOKEN = environment.metrics_token()
PM_METRICS_BIND = environment.metrics_bind(PM_METRICS_TOKEN)
LOGGING = logs.configuration()

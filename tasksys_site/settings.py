"""Django's settings, all derived from the typed configuration. Nothing here reads the environment by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

from tasksys_site.configuration import PROJECT, Account, in_project, load, read_secret
from tasksys_site.content_security import DIRECTIVES
from tasksys_site.logs import logging_configuration

configuration = load()
CONFIGURATION = configuration  # for django.conf.settings, which shows capitals only
web = configuration.web

DEBUG = web.debug
SECRET_KEY = read_secret(web.secret_key_file)
ALLOWED_HOSTS = list(web.allowed_hosts)
ROOT_URLCONF = "tasksys_site.urls"
WSGI_APPLICATION = "tasksys_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains, and
    "security.W021",  # in browsers' lists: for whoever owns the domain to decide
    "security.W008",  # the redirect from http to https is the proxy's
]

INSTALLED_APPS = [
    # unfold's templates must be found before the admin's.
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "apps.tasks",
    "apps.dbsvr",
    "apps.cachesync",
    "axes",
]

MIDDLEWARE = [
    "apps.tasks.api.entrance.ApiEntrance",  # answers the API by itself: what follows is for pages
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "tasksys_site.content_security.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "apps.tasks.people.zone_and_language.ZoneOfOperator",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "apps.tasks.publishing.audit.RememberAddress",
    "axes.middleware.AxesMiddleware",  # looks at the answer alone: whether a login was refused because of a lock
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.tasks.people.zone_and_language.zone_of_page",
            ]
        },
    }
]


def database(schema: str, account: Account) -> dict[str, Any]:
    """One Django alias on the master's first endpoint."""
    databases = configuration.databases
    host, _colon, port = databases.master[0].rpartition(":")
    return {
        "ENGINE": "django.db.backends.mysql",
        "NAME": schema,
        "USER": account.user,
        "PASSWORD": account.password,
        "HOST": host,
        "PORT": int(port),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "charset": "utf8mb4",
            "isolation_level": "read committed",
            "sql_mode": "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE",
            "connect_timeout": databases.connect_timeout_s,
            "read_timeout": databases.read_timeout_s,
            "write_timeout": databases.read_timeout_s,
        },
    }


DATABASES = {
    "default": database(configuration.databases.configuration_schema, configuration.databases.accounts.web),
    "userdata": database(configuration.databases.user_schema, configuration.databases.accounts.web),
}
DATABASE_ROUTERS = ["tasksys_site.routing.TableRouter"]

# The cache nodes are no aliases: operators add and remove them while all runs. See apps.cachesync.nodes.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/console/"
LOGOUT_REDIRECT_URL = "/"

# Locks: one account from one address. An account alone could be locked by anybody from anywhere, an address alone locks a whole office.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = web.login_failures
AXES_COOLOFF_TIME = timedelta(minutes=web.login_lock_minutes)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "tasksys_site.client_address.client_address"
AXES_LOCKOUT_CALLABLE = "apps.tasks.people.locks.locked_page"
AXES_DISABLE_ACCESS_LOG = True  # the audit log has them
AXES_ENABLE_ADMIN = False  # locks are shown and lifted on the page of users
AXES_VERBOSE = False
PROXIES = web.proxies

SESSION_COOKIE_AGE = web.session_hours * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "tasksys_session"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "tasksys_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = web.https
if web.https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = web.hsts_days * 24 * 3600
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {"DIRECTIVES": DIRECTIVES}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [PROJECT / "locale"]
LANGUAGE_COOKIE_NAME = "tasksys_language"
LANGUAGE_COOKIE_SAMESITE = "Lax"
USE_I18N = True
USE_TZ = True
TIME_ZONE = web.time_zone

STATIC_URL = "/static/"
STATIC_ROOT = in_project(configuration.var_dir) / "static"
STATICFILES_DIRS = [PROJECT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

VAR_DIR = in_project(configuration.var_dir)
RESERVED_FROM_UID = configuration.canary.first_uid
EVENT_RETENTION_DAYS = configuration.dbsvr.event_retention_days
DEADLINE_MS = configuration.web.deadline_ms
LOGGING = logging_configuration()

# For the schema alone: of this framework nothing runs in a request, see apps.tasks.api.endpoint.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.tasks.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Tasksys",
    "DESCRIPTION": _("Which tasks may this user do, how far is he, record that he did this."),
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATIONS": False,
    "ENUM_NAME_OVERRIDES": {
        "TaskState": "apps.tasks.evaluation.reasons.STATUSES",
        "ReasonCode": "apps.tasks.evaluation.reasons.REASONS",
    },
    # The validator badge would be fetched from a foreign host.
    "SWAGGER_UI_SETTINGS": {"validatorUrl": None, "persistAuthorization": False, "displayRequestDuration": True, "tryItOutEnabled": True},
}

UNFOLD = {
    "SITE_TITLE": "Tasksys",
    "SITE_HEADER": "Tasksys",
    "SITE_SUBHEADER": _("Task configuration"),
    "SITE_SYMBOL": "task_alt",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("site/icon.svg")}],
    "SITE_URL": "/",
    "SHOW_LANGUAGES": True,
    "SHOW_BACK_BUTTON": True,
    "BORDER_RADIUS": "6px",
    "ACCOUNT": {"navigation": "apps.tasks.people.views.account_links"},
    # The console's blue.
    "COLORS": {
        "primary": {
            "50": "oklch(97% .014 260)",
            "100": "oklch(93.2% .032 260)",
            "200": "oklch(88.2% .059 260)",
            "300": "oklch(80.9% .105 260)",
            "400": "oklch(70.7% .15 260)",
            "500": "oklch(59% .19 260)",
            "600": "oklch(45% .2 262)",
            "700": "oklch(40% .19 262)",
            "800": "oklch(35% .16 262)",
            "900": "oklch(30% .13 262)",
            "950": "oklch(24% .09 262)",
        }
    },
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": "apps.tasks.admin_navigation.navigation"},
}

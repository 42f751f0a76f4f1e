"""The OpenAPI schema and the page to try it. The page loads nothing foreign and has no inline script or style."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView


class ApiSchema(SpectacularAPIView):
    """OpenAPI 3.1, YAML or JSON (`?format=json`)."""


class ApiDocumentation(SpectacularSwaggerSplitView):
    """Swagger's page in two parts, so that its script is no inline one."""

    title = str(_("Tasksys API"))
    url_name = "schema"
    template_name = "api_docs.html"


class ApiKeyInSchema(OpenApiAuthenticationExtension):
    target_class = "apps.tasks.api.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Api-Key tsk_…`, the word Api-Key before the key included. Keys are made in the admin.",
        }

"""The addresses below /api/v1/. A uid is checked by the view, so that a wrong one is a 400 that says why."""

from __future__ import annotations

from django.urls import path

from apps.tasks.api.views import CompleteTaskView, ExplainView, UserTasksView, UserView

urlpatterns = [
    path("explain", ExplainView.as_view(), name="api-explain"),
    path("users/<str:uid>/tasks", UserTasksView.as_view(), name="api-user-tasks"),
    path("users/<str:uid>/tasks/<str:code>/complete", CompleteTaskView.as_view(), name="api-complete-task"),
    path("users/<str:uid>", UserView.as_view(), name="api-user"),
]

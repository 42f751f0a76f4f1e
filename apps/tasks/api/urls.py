"""The addresses below /api/v1/. A uid is checked by the view, so that a wrong one is a 400 that says why."""

from __future__ import annotations

from django.urls import path

from apps.tasks.api import config_views, event_views
from apps.tasks.api.views import ExplainView, PromptsView, UserTasksView, UserView

urlpatterns = [
    path("explain", ExplainView.as_view(), name="api-explain"),
    path("users/<str:uid>/tasks", UserTasksView.as_view(), name="api-user-tasks"),
    path("users/<str:uid>/prompts", PromptsView.as_view(), name="api-user-prompts"),
    path("users/<str:uid>/events", event_views.EventsView.as_view(), name="api-user-events"),
    path("users/<str:uid>/tasks/<str:code>/complete", event_views.CompleteTaskView.as_view(), name="api-complete-task"),
    path("users/<str:uid>/tasks/<str:code>/accept", event_views.AcceptTaskView.as_view(), name="api-accept-task"),
    path("users/<str:uid>/tasks/<str:code>/claim", event_views.ClaimRewardView.as_view(), name="api-claim-reward"),
    path("users/<str:uid>/tasks/<str:code>/revert", event_views.RevertProgressView.as_view(), name="api-revert-progress"),
    path("users:batchGet", event_views.UsersBatchView.as_view(), name="api-users-batch"),
    path("events:batch", event_views.EventsBatchView.as_view(), name="api-events-batch"),
    path("users/<str:uid>", UserView.as_view(), name="api-user"),
    path("config", config_views.ConfigView.as_view(), name="api-config"),
    path("config/revisions", config_views.RevisionsView.as_view(), name="api-config-revisions"),
    path("config/revisions/<str:number>", config_views.RevisionView.as_view(), name="api-config-revision"),
    path("config/documents", config_views.DocumentsView.as_view(), name="api-config-documents"),
    path("config/drafts", config_views.DraftsView.as_view(), name="api-drafts"),
    path("config/drafts/<str:number>", config_views.DraftView.as_view(), name="api-draft"),
    path("config/drafts/<str:number>/ask", config_views.AskView.as_view(), name="api-draft-ask"),
    path("config/drafts/<str:number>/resolve", config_views.ResolveView.as_view(), name="api-draft-resolve"),
    path("config/drafts/<str:number>/publish", config_views.PublishView.as_view(), name="api-draft-publish"),
]

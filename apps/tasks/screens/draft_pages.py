"""Drafts: which are open, and one draft with its changes in sentences, its conflicts and faults, and the one thing to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from apps.tasks.config.change_words import say_value
from apps.tasks.config.words import say_fault
from apps.tasks.models import Draft
from apps.tasks.models.drafts import OPEN_STATES, DraftState
from apps.tasks.publishing import drafts, publish, review
from apps.tasks.publishing.errors import Refusal
from apps.tasks.publishing.main_action import main_action
from apps.tasks.screens.change_sentences import address_of, changes_between
from apps.tasks.screens.frame import EDIT, LOOK, screen, show
from apps.tasks.screens.refusals import say_refusal
from apps.tasks.screens.workplace import Workplace, editor_of, enter, open_draft_or_404, say_moment

REVIEW, PUBLISH = "tasks.review_draft", "tasks.publish_draft"
DRAFTS_A_PAGE = 50

"""The models of the app: the published configuration, drafts, revisions and their records, API keys.

A user's progress is no model here: the DBSvr owns it, and it refers to a task by its number (`Task.id`) and period key.
"""

from apps.tasks.models.drafts import Draft, DraftItem, ListContents
from apps.tasks.models.keys import ApiKey, ChangeCounter
from apps.tasks.models.live import Task, TaskCondition, TaskPrerequisite, TaskText, validate_time_zone
from apps.tasks.models.operators import OperatorSettings
from apps.tasks.models.points import PointsDrain, PointsProvider, PointsReconciliation, SweptTask
from apps.tasks.models.records import AuditEntry, Revision

__all__ = [
    "ApiKey",
    "AuditEntry",
    "ChangeCounter",
    "Draft",
    "DraftItem",
    "ListContents",
    "OperatorSettings",
    "PointsDrain",
    "PointsProvider",
    "PointsReconciliation",
    "Revision",
    "SweptTask",
    "Task",
    "TaskCondition",
    "TaskPrerequisite",
    "TaskText",
    "validate_time_zone",
]

"""The operators' pages for the task configuration, under /admin/tasks/: what to show, what was asked for, one service call, an answer.

What may be in a configuration stands in `apps.tasks.config`, how it is changed in `apps.tasks.publishing`.
"""

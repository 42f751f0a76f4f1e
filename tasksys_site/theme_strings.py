"""The admin theme's own words, so that they are collected and translated with ours: the theme brings no translations.

Nothing calls this. What Django's admin already translates (Save, Delete, History, …) is not repeated here.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy

STRINGS = (
    _("After you've created a user, you’ll be able to edit more user options."),
    _("All applications"),
    _("Apply Filters"),
    _("Cancel"),
    _("Choose file to upload"),
    _("Dark"),
    _("Date"),
    _("Date from"),
    _("Date to"),
    _("Expand row"),
    _("False"),
    _("Filters"),
    _("From"),
    _("General"),
    _("Go back"),
    _("Light"),
    _("Loading more results..."),
    _("More actions"),
    _("Next"),
    _("No data"),
    _("No recent searches"),
    _("No results found"),
    _("No results matching your query"),
    _("Previous"),
    _(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password using "
        '<a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    _("Recent searches"),
    _("Record picture"),
    _("Reset filters"),
    _("Return to site"),
    _("Run"),
    _("Search apps and models..."),
    _("Select action"),
    _("Select action to run"),
    _("Select all rows"),
    _("Select record"),
    _("Select value"),
    _("Submit"),
    _("System"),
    _("This page yielded into no results. Create a new item or reset your filters."),
    _("To"),
    _("Toggle password visibility"),
    _("True"),
    _("Type to search"),
    _("Value"),
    _("Welcome back to"),
    _("You have been successfully logged out from the administration"),
    ngettext_lazy("%(counter)s result", "%(counter)s results", 0),
    ngettext_lazy("Please correct the error below.", "Please correct the errors below.", 0),
)

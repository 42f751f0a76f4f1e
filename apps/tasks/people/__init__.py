"""Who uses the admin and the console: roles, logins, settings of each operator, and what a page says to who may not see it."""

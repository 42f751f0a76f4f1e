"""What the console says, one module a language; `say` chooses and fills in."""

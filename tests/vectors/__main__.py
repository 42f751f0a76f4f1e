"""`python -m tests.vectors` writes docs/vectors/ anew. Look at the difference: each changed answer is one for clients everywhere."""

from tests.vectors.write import write_all

write_all()

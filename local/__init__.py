"""The local stack: the functions, their queue and their database on one machine, without Docker."""

"""The schema function: numbered SQL migrations, applied at deploy time."""

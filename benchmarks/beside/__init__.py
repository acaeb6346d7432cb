"""What stands beside ours, as functions of their own, and the guild that all of it is asked of."""

"""What is deployed: the template, and how its artifacts are built."""

"""What no linter knows of this stack, by subject; importing a module adds its assertions."""

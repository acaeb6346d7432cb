"""What the functions share: scope, work message, settings, telemetry, database connection."""

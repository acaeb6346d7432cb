"""The writer function: SQS -> Postgres, exactly once in effect."""

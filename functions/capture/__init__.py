"""The capture function: API Gateway -> container memory -> SQS, and reading the memory back."""

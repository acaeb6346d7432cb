"""Fuzzes the API: requests of all kinds in, and nothing out that docs/openapi.json does not say."""

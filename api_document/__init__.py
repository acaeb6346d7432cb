"""The OpenAPI document of the API, made out of the wire models; nothing of it ships to Lambda."""

"""What the functions read from their environment at import, set as nobody's account."""

import os

os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "POWERTOOLS_SERVICE_NAME": "bench",
        "WORK_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/shortterm-work",
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
    }
)

"""Logging in to RDS without a password: a token signed with the function's own credentials.

AWS takes the token as the password for 15 minutes. It is made locally, anew for each connection, so
none is ever old; botocore is imported only then.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

LIFE_S = 900


def login_token(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return a token for the host, port and user of `url` (a libpq connection URI).

    It is signed with the credentials and for the region that Lambda keeps in `environ`; makes no
    network call. Raises KeyError, naming the variable, where there are none.
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    target = conninfo_to_dict(url)
    query = urlencode({"Action": "connect", "DBUser": target["user"]})
    request = AWSRequest("GET", f"https://{target['host']}:{target.get('port', 5432)}/?{query}")
    credentials = Credentials(
        environ["AWS_ACCESS_KEY_ID"],
        environ["AWS_SECRET_ACCESS_KEY"],
        environ.get("AWS_SESSION_TOKEN"),
    )
    signer = SigV4QueryAuth(credentials, "rds-db", environ["AWS_REGION"], expires=LIFE_S)
    signer.add_auth(request)
    return str(request.url).removeprefix("https://")

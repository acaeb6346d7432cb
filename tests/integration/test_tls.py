"""Logging in as on RDS: TLS verified in full, and a token of AWS IAM for a password."""

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import botocore.auth
import psycopg
import pytest
import trustme
from botocore.session import Session
from tls import HOST, TlsServer

from shortterm import database
from shortterm.database import Database, Unavailable, connect
from shortterm.iam import LIFE_S, login_token
from shortterm.settings import DatabaseSettings

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "session/token+of=Lambda",
    "AWS_REGION": "eu-west-1",
}
BUNDLE = Path(__file__).parents[2] / "layers/shortterm/certificates/rds-ca-bundle.pem"
TOKEN = "a token of AWS IAM"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with TlsServer(tmp_path_factory.mktemp("tls"), password=TOKEN).running() as server:
        yield server


@pytest.fixture
def trusted(server) -> Path:
    return server.root(server.authority)


@pytest.fixture
def log_in(monkeypatch):
    """Connect as the functions do, with the server's password where AWS would take the token."""
    monkeypatch.setattr(database, "login_token", lambda url: TOKEN)

    def start(url: str) -> psycopg.Connection:
        return connect(DatabaseSettings(url, database_iam_auth=True), "test")

    return start


def test_the_right_name_under_the_right_root_connects_over_tls(server, trusted, log_in):
    with log_in(server.url(root=trusted)) as connection:
        encrypted = connection.execute(
            "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        ).fetchone()
    assert encrypted == (True, "TLSv1.3")


def test_a_wrong_name_is_refused(server, trusted, log_in):
    with pytest.raises(Unavailable, match="does not match host name"):
        log_in(server.url("other.shortterm.test", root=trusted))


def test_a_wrong_root_is_refused(server, log_in):
    with pytest.raises(Unavailable, match="certificate verify failed"):
        log_in(server.url(root=server.root(trustme.CA())))


def test_the_roots_of_rds_are_read_and_do_not_vouch_for_anybody_else(server, log_in):
    with pytest.raises(Unavailable, match="certificate verify failed"):
        log_in(server.url(root=BUNDLE))


def test_plain_text_is_refused(server, trusted, log_in):
    with pytest.raises(Unavailable, match="no encryption"):
        log_in(server.url(root=trusted, sslmode="disable"))


def test_without_the_token_nobody_gets_in(server, trusted):
    settings = DatabaseSettings(server.url(root=trusted))
    with pytest.raises(Unavailable, match="no password supplied"):
        connect(settings, "test")


URL = f"postgresql://stm_writer@{HOST}:5433/shortterm?sslmode=verify-full"


def parsed(token: str) -> dict[str, str]:
    address = urlsplit(f"https://{token}")
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    return {"host": address.netloc, "path": address.path, **query}


def test_a_token_is_the_one_that_botocores_own_signer_makes(monkeypatch):
    moment = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
    monkeypatch.setattr(
        botocore.auth, "get_current_datetime", lambda *_: moment.replace(tzinfo=None)
    )
    session = Session()
    session.set_credentials(
        CREDENTIALS["AWS_ACCESS_KEY_ID"],
        CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        CREDENTIALS["AWS_SESSION_TOKEN"],
    )
    client = session.create_client("rds", region_name="eu-west-1")
    expected = client.generate_db_auth_token(HOST, 5433, "stm_writer")
    client.close()
    assert parsed(login_token(URL, CREDENTIALS)) == parsed(expected)


def test_a_token_says_who_logs_in_where_and_for_how_long():
    token = parsed(login_token(URL, CREDENTIALS))
    assert (token["host"], token["path"]) == (f"{HOST}:5433", "/")
    assert (token["Action"], token["DBUser"]) == ("connect", "stm_writer")
    assert token["X-Amz-Expires"] == str(LIFE_S) == "900"
    assert token["X-Amz-Credential"].endswith("/eu-west-1/rds-db/aws4_request")
    assert token["X-Amz-Security-Token"] == CREDENTIALS["AWS_SESSION_TOKEN"]


@pytest.mark.parametrize("change", ["other host", "other port", "other user", "other region"])
def test_a_token_is_good_for_nothing_else(change):
    url = {
        "other host": URL.replace(HOST, "else.test"),
        "other port": URL.replace("5433", "5434"),
        "other user": URL.replace("stm_writer", "stm_capture"),
    }.get(change, URL)
    region = {"AWS_REGION": "eu-central-1"} if change == "other region" else {}
    one, other = login_token(URL, CREDENTIALS), login_token(url, CREDENTIALS | region)
    assert parsed(one)["X-Amz-Signature"] != parsed(other)["X-Amz-Signature"]


def test_the_port_is_postgres_own_where_none_is_given():
    url = URL.replace(":5433", "")
    assert parsed(login_token(url, CREDENTIALS))["host"] == f"{HOST}:5432"


def test_each_connection_has_a_token_of_its_own(server, trusted, monkeypatch):
    made = []

    def make(url: str) -> str:
        made.append(url)
        return TOKEN

    monkeypatch.setattr(database, "login_token", make)
    settings = DatabaseSettings(server.url(root=trusted), database_iam_auth=True)
    reconnecting = Database(settings, application_name="test")
    for _ in range(2):
        reconnecting.run(lambda connection: connection.execute("SELECT 1"))
        reconnecting.close()
    assert made == [settings.database_url] * 2


def test_without_credentials_the_missing_one_is_named():
    with pytest.raises(KeyError, match="AWS_ACCESS_KEY_ID"):
        login_token(URL, {"AWS_REGION": "eu-west-1"})

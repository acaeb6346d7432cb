"""The account of what memory holds: every entry counts, and a window once for all its entries."""

import pytest
from given import NOW, SERVERS, USERS, window

from capture.entry import Entry
from capture.weight import Account, entry_bytes, window_bytes


@pytest.fixture
def account():
    return Account()


def entry(scope, its_window):
    return Entry(scope, its_window, updated_at=NOW, created_at=NOW)


def test_a_window_that_two_entries_share_is_counted_once(account):
    shared = window("a")
    users, servers = entry(USERS, shared), entry(SERVERS, shared)
    account.add(users)
    account.add(servers)
    assert account.bytes == entry_bytes(users) + entry_bytes(servers) + window_bytes(shared)


def test_windows_that_say_the_same_are_counted_each(account):
    users, servers = entry(USERS, window("a")), entry(SERVERS, window("a"))
    account.add(users)
    one = account.bytes
    account.add(servers)
    assert account.bytes - one == entry_bytes(servers) + window_bytes(servers.window)


def test_a_window_is_counted_until_its_last_entry_is_gone(account):
    shared = window("a")
    users, servers = entry(USERS, shared), entry(SERVERS, shared)
    account.add(users)
    account.add(servers)
    account.remove(users)
    assert account.bytes == entry_bytes(servers) + window_bytes(shared)
    account.remove(servers)
    assert account.bytes == 0

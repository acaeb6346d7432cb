"""The stream of the fault harness: what it says is the measure of everything else."""

import json
from collections import Counter

import msgspec
import pytest

from capture import rules
from capture.turn import decode
from shortterm import work
from shortterm.wire import Mismatch
from soak.faults import Fault, plan
from soak.poison import REFUSED_OWNER
from soak.stream import Poison, Post, ScopeId, World, script

TURNS = 2_000


@pytest.fixture(scope="module")
def items():
    return list(script(World(1), TURNS))


@pytest.fixture(scope="module")
def posts(items):
    return [it for it in items if isinstance(it, Post)]


@pytest.fixture(scope="module")
def poison(items):
    return [it.body for it in items if isinstance(it, Poison)]


def test_a_seed_is_one_stream_and_another_seed_another(items):
    assert list(script(World(1), TURNS)) == items
    assert list(script(World(2), TURNS)) != items


def test_every_turn_is_posted_once_and_some_are_posted_again(posts):
    times = Counter(it.turn.turn_id for it in posts)
    assert len(times) == TURNS
    assert set(times.values()) == {1, 2}
    twice = sum(it.again for it in posts)
    assert twice == len(posts) - TURNS
    assert 0.03 < twice / TURNS < 0.07


def test_a_turn_is_posted_again_only_after_its_first_time(posts):
    begun = set()
    for post in posts:
        assert post.again == (post.turn.turn_id in begun)
        begun.add(post.turn.turn_id)


def test_every_turn_is_well_formed_and_leaves_what_the_specification_says(posts):
    for post in posts:
        turn = decode(post.turn.body.decode())
        assert turn.turn_id == post.turn.turn_id
        assert post.turn.is_skipped == (rules.skip_reason(turn) is not None)
        if post.turn.is_skipped:
            continue
        scopes = rules.fan_out(turn)
        assert {ScopeId(*msgspec.structs.astuple(it.scope)) for it in scopes if it.live} == (
            post.turn.live
        )
        assert post.turn.lineages == {
            ScopeId(*msgspec.structs.astuple(it.scope)): it.persona_lineage_id for it in scopes
        }


def test_there_is_something_of_everything(posts):
    turns = [it.turn for it in posts]
    bodies = [json.loads(it.body) for it in turns]
    assert any(it.is_skipped for it in turns)
    assert any(not it["serverId"] or it["serverId"] == "DM" for it in bodies)
    assert any("parentChannelId" in it for it in bodies)
    assert any(len(it.live) == 2 for it in turns)
    assert any(scope.persona_id is None for it in turns for scope in it.lineages)
    assert any(lineage for it in turns for lineage in it.lineages.values())


def test_a_few_channels_have_most_of_the_turns(posts):
    channels = Counter(json.loads(it.turn.body)["channelId"] for it in posts)
    assert channels.most_common(1)[0][0] == World(1).busiest.channel_id
    assert sum(count for _, count in channels.most_common(10)) > len(posts) / 3


def test_a_thread_is_in_its_parents_guild():
    channels = {it.channel_id: it for it in World(1).channels.all}
    threads = [it for it in channels.values() if it.parent_id]
    assert threads
    assert all(channels[it.parent_id].server_id == it.server_id for it in threads)


def test_no_two_poison_messages_are_equal(poison):
    assert 0.01 < len(poison) / TURNS < 0.03
    assert len(set(poison)) == len(poison)


def test_poison_is_unreadable_or_of_the_owner_that_the_database_refuses(poison):
    refused = 0
    for body in poison:
        try:
            owner_id = work.decode(body).scopes[0].scope.owner_id
        except Mismatch:
            continue
        assert owner_id == REFUSED_OWNER
        refused += 1
    assert 0 < refused < len(poison)


def test_a_short_plan_has_every_fault_once_and_a_long_one_each_as_often():
    assert sorted(it.fault for it in plan(1, 500)) == sorted(Fault)
    often = Counter(it.fault for it in plan(1, 20_000))
    assert set(often) == set(Fault)
    assert set(often.values()) == {3}


def test_a_plan_is_spread_over_the_run_and_leaves_turns_before_and_behind():
    planned = plan(1, 1_000)
    assert planned == plan(1, 1_000)
    assert planned != plan(2, 1_000)
    assert planned[0].begins > 0
    assert planned[-1].share_ends < 1_000
    assert [it.begins for it in planned[1:]] == [it.share_ends for it in planned[:-1]]

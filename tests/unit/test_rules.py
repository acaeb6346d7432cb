"""What is skipped, and in which order; which scopes a turn is remembered under."""

import pytest
from given import message, response, turn
from hypothesis import given
from hypothesis import strategies as st

from capture.rules import Persona, SkipReason, fan_out, personas, skip_reason
from shortterm.scope import Scope

STOP = {"isStopResponse": True}
SILENT = {"simplifiedMessages": []}
FULL = {"privacyLevel": "FULL"}
MUTE = {"personaResponses": []}
EMOJI_ONLY_ANNOTATION = "[System: Reactions on this message: 👍 x2 by Ann, Bo]"


def test_an_ordinary_turn_is_not_skipped():
    assert skip_reason(turn()) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (STOP, SkipReason.STOP_RESPONSE),
        (SILENT, SkipReason.NO_MESSAGES),
        (FULL, SkipReason.PRIVACY_FULL),
        (MUTE, SkipReason.NO_PERSONA_TEXT),
        (STOP | SILENT | FULL | MUTE, SkipReason.STOP_RESPONSE),
        (SILENT | FULL | MUTE, SkipReason.NO_MESSAGES),
        (FULL | MUTE, SkipReason.PRIVACY_FULL),
    ],
)
def test_the_first_reason_in_the_specified_order_is_told(fields, reason):
    assert skip_reason(turn(**fields)) is reason


@pytest.mark.parametrize("text", ["", "  \n", "\u200b\u200d", EMOJI_ONLY_ANNOTATION])
def test_a_response_with_nothing_visible_counts_as_no_text(text):
    assert skip_reason(turn(personaResponses=[response(text)])) is SkipReason.NO_PERSONA_TEXT


def test_one_response_with_text_is_enough():
    responses = [response(""), response("👩‍💻")]
    assert skip_reason(turn(personaResponses=responses)) is None


def test_partial_privacy_is_captured():
    assert skip_reason(turn(privacyLevel="PARTIAL")) is None


def test_messages_of_others_alone_are_still_messages():
    assert skip_reason(turn(simplifiedMessages=[message("x", "other")])) is None


def test_a_guild_turn_is_the_users_and_the_servers_and_the_server_is_live():
    of_user, of_server = fan_out(turn())
    assert (of_user.scope, of_user.live) == (Scope("user", "u", "c", "7"), False)
    assert (of_server.scope, of_server.live) == (Scope("server", "s", "c", "7"), True)


@pytest.mark.parametrize("fields", [{"serverId": None}, {"serverId": ""}, {"serverId": "DM"}])
def test_a_direct_message_has_no_server_entry_and_the_user_is_live(fields):
    (of_user,) = fan_out(turn(**fields))
    assert (of_user.scope, of_user.live) == (Scope("user", "u", "c", "7"), True)


def test_a_thread_is_a_channel_of_its_own():
    scopes = fan_out(turn(channelId="thread", parentChannelId="channel"))
    assert {it.scope.channel_id for it in scopes} == {"thread"}


def test_responses_without_and_with_the_same_persona_make_one_set():
    responses = [response("a"), response("b", personaId=5), response("c", personaId=5)]
    scopes = fan_out(turn(personaResponses=responses))
    assert [it.scope.persona_id for it in scopes] == ["5", "5"]


def test_responses_without_any_persona_make_one_set_without_persona():
    scopes = fan_out(turn(personaResponses=[response("a"), response("b")]))
    assert [it.scope.persona_id for it in scopes] == [None, None]


def test_a_persona_given_as_a_number_is_the_one_given_as_text():
    responses = [response("a", personaId=7), response("b", personaId="7")]
    assert personas(turn(personaResponses=responses)) == [Persona("7", None)]


def test_a_lineage_is_taken_from_the_first_response_that_tells_it():
    responses = [response("a", personaId=7), response("b", personaId=7, personaLineageId=3)]
    assert personas(turn(personaResponses=responses)) == [Persona("7", "3")]


def test_a_lineage_once_told_stands():
    responses = [
        response(text, personaId=7, personaLineageId=it) for text, it in [("a", 3), ("b", 4)]
    ]
    assert personas(turn(personaResponses=responses)) == [Persona("7", "3")]


@given(st.lists(st.sampled_from([None, "5", 5, "6"]), min_size=1, max_size=8))
def test_there_is_one_set_per_distinct_persona_and_one_live_scope_in_each(ids):
    responses = [response("x", personaId=it) for it in ids]
    scopes = fan_out(turn(personaResponses=responses))
    named = {str(it) for it in ids if it is not None}
    assert {it.scope.persona_id for it in scopes} == (named or {None})
    assert len(scopes) == 2 * max(len(named), 1)
    assert sum(it.live for it in scopes) == max(len(named), 1)

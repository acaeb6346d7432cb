"""What is not remembered, and whose memory the rest becomes. Pure."""

from enum import StrEnum
from typing import NamedTuple

from capture.cleaning import clean, is_visible
from capture.turn import Turn
from shortterm.scope import Scope
from shortterm.work import ScopeWork


class SkipReason(StrEnum):
    """Why a turn leaves no trace."""

    STOP_RESPONSE = "stop_response"
    NO_MESSAGES = "no_messages"
    PRIVACY_FULL = "privacy_full"
    NO_PERSONA_TEXT = "no_persona_text"


class Persona(NamedTuple):
    """Who answered: an id, or none for a bot without personas, and the lineage it descends from."""

    persona_id: str | None
    lineage_id: str | None


def skip_reason(turn: Turn) -> SkipReason | None:
    """Return why `turn` is not captured, the first reason in the order of design section 5.1."""
    if turn.is_stop_response:
        return SkipReason.STOP_RESPONSE
    if not turn.simplified_messages:
        return SkipReason.NO_MESSAGES
    if turn.privacy_level == "FULL":
        return SkipReason.PRIVACY_FULL
    if not any(is_visible(clean(response.text)) for response in turn.persona_responses):
        return SkipReason.NO_PERSONA_TEXT
    return None


def personas(turn: Turn) -> list[Persona]:
    """Return the distinct personas of the responses; one without id only when none has an id.

    A persona's lineage is the first that its responses tell.
    """
    lineages: dict[str | None, str | None] = {}
    for response in turn.persona_responses:
        lineages[response.persona] = lineages.get(response.persona) or response.lineage
    if len(lineages) > 1:
        lineages.pop(None, None)
    return [Persona(*it) for it in lineages.items()]


def fan_out(turn: Turn) -> tuple[ScopeWork, ...]:
    """Return the scopes of `turn`: per persona the user's, and in a guild the server's, too."""
    return tuple(
        scope
        for persona_id, lineage_id in personas(turn)
        for scope in scopes_of(
            user_id=turn.user_id,
            server_id=turn.server_id,
            channel_id=turn.channel_id,
            persona_id=persona_id,
            lineage_id=lineage_id,
        )
    )


def scopes_of(
    *,
    user_id: str,
    server_id: str | None,
    channel_id: str,
    persona_id: str | None,
    lineage_id: str | None,
) -> tuple[ScopeWork, ...]:
    """Return the user's scope and, in a guild, the server's.

    The live one is the server's in a guild and the user's in a direct message (design, section 3).
    """
    user_scope = Scope("user", user_id, channel_id, persona_id)
    if server_id is None:
        return (ScopeWork(user_scope, lineage_id, live=True),)
    server_scope = Scope("server", server_id, channel_id, persona_id)
    return ScopeWork(user_scope, lineage_id), ScopeWork(server_scope, lineage_id, live=True)

-- What is durable of a scope: summary, categories, cadence. No column can hold a crude line.
CREATE TABLE short_term_memories (
    scope               text        NOT NULL CHECK (scope IN ('user', 'server')),
    owner_id            text        NOT NULL CHECK (char_length(owner_id) BETWEEN 1 AND 64),
    channel_id          text        NOT NULL CHECK (char_length(channel_id) BETWEEN 1 AND 64),
    persona_id          text        CHECK (char_length(persona_id) BETWEEN 1 AND 64),
    server_id           text        CHECK (char_length(server_id) BETWEEN 1 AND 64),
    persona_lineage_id  text        CHECK (char_length(persona_lineage_id) BETWEEN 1 AND 64),
    parent_channel_id   text        CHECK (char_length(parent_channel_id) BETWEEN 1 AND 64),
    is_private          boolean     NOT NULL DEFAULT false,
    summary             text        CHECK (char_length(summary) BETWEEN 1 AND 1500),
    summary_updated_at  timestamptz,
    categories          jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(categories) = 'object'),
    turns_since_refresh integer     NOT NULL DEFAULT 0 CHECK (turns_since_refresh >= 0),
    last_refreshed_turn bigint      NOT NULL DEFAULT 0 CHECK (last_refreshed_turn >= 0),
    last_turn_at        timestamptz,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    -- A scope without persona is one scope: here NULL equals NULL.
    CONSTRAINT one_row_per_scope UNIQUE NULLS NOT DISTINCT (scope, owner_id, channel_id, persona_id)
) WITH (fillfactor = 85);  -- room for the counter's updates to stay on their page, index untouched

-- Which turns have been applied, so that one delivered again counts once.
CREATE TABLE applied_turns (
    turn_id    text        PRIMARY KEY CHECK (char_length(turn_id) BETWEEN 1 AND 64),
    applied_at timestamptz NOT NULL DEFAULT now()
);

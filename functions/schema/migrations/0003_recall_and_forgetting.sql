-- When each category was told (ms), removed ones included: the newest telling of each stands.
ALTER TABLE short_term_memories
    ADD COLUMN category_times jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(category_times) = 'object'),
    -- When the bot last told anything of the scope: the cadence starts anew with each.
    ADD COLUMN refreshed_at timestamptz,
    -- The hour of the row's last sign of life, which a read and the janitor find it by. No finer: while
    -- no indexed column changes, the counter's update leaves every index untouched.
    ADD COLUMN live_hour timestamp NOT NULL GENERATED ALWAYS AS (
        date_trunc('hour', coalesce(
            greatest(
                last_turn_at,
                CASE WHEN summary IS NOT NULL THEN summary_updated_at END,
                CASE WHEN categories <> '{}' THEN refreshed_at END
            ),
            created_at
        ) AT TIME ZONE 'UTC')
    ) STORED;

CREATE INDEX memories_of_owner ON short_term_memories (scope, owner_id, live_hour);
-- Forgetting a channel, and whether a thread's parent is private.
CREATE INDEX memories_of_channel ON short_term_memories (channel_id, scope);
-- The threads of a channel.
CREATE INDEX memories_of_parent ON short_term_memories (parent_channel_id)
    WHERE parent_channel_id IS NOT NULL;
-- The janitor's two ways. The first knows only rows that it may delete, or it would walk past all
-- others each time. The second is no BRIN: entries that take a deleted one's place blur its ranges.
CREATE INDEX memories_by_hour ON short_term_memories (live_hour)
    WHERE summary IS NULL AND categories = '{}';
CREATE INDEX applied_turns_by_time ON applied_turns (applied_at);

-- Who was forgotten, and when: what was captured before is neither shown nor written again.
CREATE SEQUENCE tombstone_numbers;
CREATE TABLE tombstones (
    number       bigint      PRIMARY KEY,
    subject      text        NOT NULL CHECK (subject IN ('user', 'channel')),
    subject_id   text        NOT NULL CHECK (char_length(subject_id) BETWEEN 1 AND 64),
    forgotten_at timestamptz NOT NULL
);
CREATE INDEX tombstones_by_time ON tombstones (forgotten_at);

-- A tombstone takes the rows with it, in one transaction. It waits for the writers that are at work
-- (they share this lock, see functions/writer/store.py) and keeps later ones waiting until it can be
-- seen. So no batch that knew nothing of it writes a row behind it, and tombstones become visible in
-- the order of their numbers. As its owner: the capture function may write tombstones, nothing else.
CREATE FUNCTION take_the_forgotten() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(x'6F6E65206279206F'::bigint);
    IF NEW.subject = 'user' THEN
        DELETE FROM public.short_term_memories WHERE scope = 'user' AND owner_id = NEW.subject_id;
    ELSE
        -- Its threads are other channels, and stay as private as it was.
        UPDATE public.short_term_memories SET is_private = true
        WHERE parent_channel_id = NEW.subject_id AND NOT is_private AND (
            SELECT parent.is_private
            FROM public.short_term_memories AS parent
            WHERE parent.channel_id = NEW.subject_id AND parent.scope = 'server'
            ORDER BY parent.last_turn_at DESC NULLS LAST
            LIMIT 1
        );
        DELETE FROM public.short_term_memories WHERE channel_id = NEW.subject_id;
    END IF;
    NEW.number := nextval('public.tombstone_numbers');
    -- The later of two clocks: what was captured while this waited is forgotten, too. A clock that is
    -- far ahead must not have everything forgotten that is yet to come.
    NEW.forgotten_at := least(
        greatest(NEW.forgotten_at, clock_timestamp()), clock_timestamp() + interval '1 minute'
    );
    RETURN NEW;
END;
$$;
REVOKE ALL ON FUNCTION take_the_forgotten() FROM PUBLIC;

CREATE TRIGGER take_the_forgotten BEFORE INSERT ON tombstones
FOR EACH ROW EXECUTE FUNCTION take_the_forgotten();

GRANT SELECT, INSERT (subject, subject_id, forgotten_at) ON tombstones TO stm_capture;
GRANT SELECT, DELETE ON tombstones TO stm_writer;

-- The roles that the functions log in as, each with the least it needs. They have no password: on RDS
-- a role authenticates with an IAM token, which takes membership in rds_iam.
DO $$
DECLARE
    function_role text;
BEGIN
    FOREACH function_role IN ARRAY ARRAY['stm_capture', 'stm_writer'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', function_role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- roles belong to the cluster: another database of it may have made this one
        END;
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam') THEN
            EXECUTE format('GRANT rds_iam TO %I', function_role);
        END IF;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), function_role);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO stm_capture, stm_writer;
GRANT SELECT ON short_term_memories TO stm_capture;
GRANT SELECT, INSERT, UPDATE, DELETE ON short_term_memories, applied_turns TO stm_writer;

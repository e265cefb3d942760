SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE TYPE public.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);
CREATE TYPE public.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);
CREATE TYPE public.procrastinate_job_to_defer_v1 AS (
	queue_name character varying,
	task_name character varying,
	priority integer,
	lock text,
	queueing_lock text,
	args jsonb,
	scheduled_at timestamp with time zone
);
CREATE FUNCTION public.approvals_auditentry_no_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN COALESCE(OLD, NULL); END IF;
            RAISE EXCEPTION 'approvals_auditentry is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.approvals_auditentry_no_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF (NEW."id" IS NOT DISTINCT FROM OLD."id" AND NEW."at" IS NOT DISTINCT FROM OLD."at" AND NEW."event" IS NOT DISTINCT FROM OLD."event" AND NEW."scope" IS NOT DISTINCT FROM OLD."scope" AND NEW."dedup_key" IS NOT DISTINCT FROM OLD."dedup_key" AND NEW."run_id" IS NOT DISTINCT FROM OLD."run_id" AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id" AND NEW."thread_id" IS NOT DISTINCT FROM OLD."thread_id" AND NEW."agent" IS NOT DISTINCT FROM OLD."agent" AND NEW."tool_name" IS NOT DISTINCT FROM OLD."tool_name" AND NEW."tool_call_id" IS NOT DISTINCT FROM OLD."tool_call_id" AND NEW."actor_id" IS NOT DISTINCT FROM OLD."actor_id" AND NEW."actor_name" IS NOT DISTINCT FROM OLD."actor_name" AND NEW."via" IS NOT DISTINCT FROM OLD."via" AND NEW."verdict" IS NOT DISTINCT FROM OLD."verdict" AND NEW."amount" IS NOT DISTINCT FROM OLD."amount" AND NEW."open_after" IS NOT DISTINCT FROM OLD."open_after" AND NEW."body" IS NOT DISTINCT FROM OLD."body" AND NEW."digest" IS NOT DISTINCT FROM OLD."digest") OR EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'approvals_auditentry is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.approvals_decision_no_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN COALESCE(OLD, NULL); END IF;
            RAISE EXCEPTION 'approvals_decision is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.approvals_decision_no_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF (NEW."id" IS NOT DISTINCT FROM OLD."id" AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id" AND NEW."verdict" IS NOT DISTINCT FROM OLD."verdict" AND NEW."by_id" IS NOT DISTINCT FROM OLD."by_id" AND NEW."by_name" IS NOT DISTINCT FROM OLD."by_name" AND NEW."via" IS NOT DISTINCT FROM OLD."via" AND NEW."comment" IS NOT DISTINCT FROM OLD."comment" AND NEW."edited_input" IS NOT DISTINCT FROM OLD."edited_input" AND NEW."approved_digest" IS NOT DISTINCT FROM OLD."approved_digest" AND NEW."answer" IS NOT DISTINCT FROM OLD."answer" AND NEW."decided_at" IS NOT DISTINCT FROM OLD."decided_at") OR EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'approvals_decision is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.approvals_requestcomment_no_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN COALESCE(OLD, NULL); END IF;
            RAISE EXCEPTION 'approvals_requestcomment is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.approvals_requestcomment_no_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF (NEW."id" IS NOT DISTINCT FROM OLD."id" AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id" AND NEW."by_id" IS NOT DISTINCT FROM OLD."by_id" AND NEW."by_name" IS NOT DISTINCT FROM OLD."by_name" AND NEW."via" IS NOT DISTINCT FROM OLD."via" AND NEW."text" IS NOT DISTINCT FROM OLD."text" AND NEW."at" IS NOT DISTINCT FROM OLD."at") OR EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'approvals_requestcomment is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.chats_turncheckpoint_no_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN COALESCE(OLD, NULL); END IF;
            RAISE EXCEPTION 'chats_turncheckpoint is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.chats_turncheckpoint_no_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF (NEW."id" IS NOT DISTINCT FROM OLD."id" AND NEW."chat_pk" IS NOT DISTINCT FROM OLD."chat_pk" AND NEW."turn_pk" IS NOT DISTINCT FROM OLD."turn_pk" AND NEW."run_id" IS NOT DISTINCT FROM OLD."run_id" AND NEW."message_id" IS NOT DISTINCT FROM OLD."message_id" AND NEW."ordinal" IS NOT DISTINCT FROM OLD."ordinal" AND NEW."kind" IS NOT DISTINCT FROM OLD."kind" AND NEW."finish_reason" IS NOT DISTINCT FROM OLD."finish_reason" AND NEW."stopped" IS NOT DISTINCT FROM OLD."stopped" AND NEW."error" IS NOT DISTINCT FROM OLD."error" AND NEW."kept" IS NOT DISTINCT FROM OLD."kept" AND NEW."tail" IS NOT DISTINCT FROM OLD."tail" AND NEW."digest" IS NOT DISTINCT FROM OLD."digest" AND NEW."created_at" IS NOT DISTINCT FROM OLD."created_at") OR EXISTS (SELECT 1 FROM pausepoint_maintenance) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'chats_turncheckpoint is append-only: rows are never changed or deleted'; END $$;
CREATE FUNCTION public.procrastinate_cancel_job_v1(job_id bigint, abort boolean, delete_job boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status = 'todo'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        IF abort THEN
            UPDATE procrastinate_jobs
            SET abort_requested = true,
                status = CASE status
                    WHEN 'todo' THEN 'cancelled'::procrastinate_job_status ELSE status
                END
            WHERE id = job_id AND status IN ('todo', 'doing')
            RETURNING id INTO _job_id;
        ELSE
            UPDATE procrastinate_jobs
            SET status = 'cancelled'::procrastinate_job_status
            WHERE id = job_id AND status = 'todo'
            RETURNING id INTO _job_id;
        END IF;
    END IF;
    RETURN _job_id;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_jobs_v1(jobs public.procrastinate_job_to_defer_v1[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    job_ids bigint[];
BEGIN
    WITH inserted_jobs AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT (job).queue_name,
               (job).task_name,
               (job).priority,
               (job).lock,
               (job).queueing_lock,
               (job).args,
               (job).scheduled_at
        FROM unnest(jobs) AS job
        RETURNING id
    )
    SELECT array_agg(id) FROM inserted_jobs INTO job_ids;
    RETURN job_ids;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_periodic_job_v2(_queue_name character varying, _lock character varying, _queueing_lock character varying, _task_name character varying, _priority integer, _periodic_id character varying, _defer_timestamp bigint, _args jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	_job_id bigint;
	_defer_id bigint;
BEGIN
    INSERT
        INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp)
        VALUES (_task_name, _periodic_id, _defer_timestamp)
        ON CONFLICT DO NOTHING
        RETURNING id into _defer_id;
    IF _defer_id IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE procrastinate_periodic_defers
        SET job_id = (
            SELECT COALESCE((
                SELECT unnest(procrastinate_defer_jobs_v1(
                    ARRAY[
                        ROW(
                            _queue_name,
                            _task_name,
                            _priority,
                            _lock,
                            _queueing_lock,
                            _args,
                            NULL::timestamptz
                        )
                    ]::procrastinate_job_to_defer_v1[]
                ))
            ), NULL)
        )
        WHERE id = _defer_id
        RETURNING job_id INTO _job_id;
    DELETE
        FROM procrastinate_periodic_defers
        USING (
            SELECT id
            FROM procrastinate_periodic_defers
            WHERE procrastinate_periodic_defers.task_name = _task_name
            AND procrastinate_periodic_defers.periodic_id = _periodic_id
            AND procrastinate_periodic_defers.defer_timestamp < _defer_timestamp
            ORDER BY id
            FOR UPDATE
        ) to_delete
        WHERE procrastinate_periodic_defers.id = to_delete.id;
    RETURN _job_id;
END;
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status public.procrastinate_job_status DEFAULT 'todo'::public.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    queueing_lock text,
    priority integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::public.procrastinate_job_status) AND (abort_requested = true))))
);
CREATE FUNCTION public.procrastinate_fetch_job_v2(target_queue_names character varying[], p_worker_id bigint) RETURNS public.procrastinate_jobs
    LANGUAGE plpgsql
    AS $$
DECLARE
	found_jobs procrastinate_jobs;
BEGIN
    WITH candidate AS (
        SELECT jobs.*
            FROM procrastinate_jobs AS jobs
            WHERE
                -- reject the job if its lock has earlier or higher priority jobs
                NOT EXISTS (
                    SELECT 1
                        FROM procrastinate_jobs AS other_jobs
                        WHERE
                            jobs.lock IS NOT NULL
                            AND other_jobs.lock = jobs.lock
                            AND (
                                -- job with same lock is already running
                                other_jobs.status = 'doing'
                                OR
                                -- job with same lock is waiting and has higher priority (or same priority but was queued first)
                                (
                                    other_jobs.status = 'todo'
                                    AND (
                                        other_jobs.priority > jobs.priority
                                        OR (
                                        other_jobs.priority = jobs.priority
                                        AND other_jobs.id < jobs.id
                                        )
                                    )
                                )
                            )
                )
                AND jobs.status = 'todo'
                AND (target_queue_names IS NULL OR jobs.queue_name = ANY( target_queue_names ))
                AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
            ORDER BY jobs.priority DESC, jobs.id ASC LIMIT 1
            FOR UPDATE OF jobs SKIP LOCKED
    )
    UPDATE procrastinate_jobs
        SET status = 'doing', worker_id = p_worker_id
        FROM candidate
        WHERE procrastinate_jobs.id = candidate.id
        RETURNING procrastinate_jobs.* INTO found_jobs;
 RETURN found_jobs;
END;
$$;
CREATE FUNCTION public.procrastinate_finish_job_v1(job_id bigint, end_status public.procrastinate_job_status, delete_job boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF end_status NOT IN ('succeeded', 'failed', 'aborted') THEN
        RAISE 'End status should be either "succeeded", "failed" or "aborted" (job id: %)', job_id;
    END IF;
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = end_status,
            abort_requested = false,
            attempts = CASE status
                WHEN 'doing' THEN attempts + 1 ELSE attempts
            END
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" or "todo" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_abort_job_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_prune_stalled_workers_v1(seconds_since_heartbeat double precision) RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    DELETE FROM procrastinate_workers
    WHERE last_heartbeat < NOW() - (seconds_since_heartbeat || 'SECOND')::INTERVAL
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_register_worker_v1() RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO procrastinate_workers DEFAULT VALUES
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v1(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
BEGIN
    SELECT abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status = 'doing'
    FOR UPDATE
    INTO _abort_requested;
    IF _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v2(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
    _current_status procrastinate_job_status;
BEGIN
    SELECT status, abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status IN ('doing', 'failed')
    FOR UPDATE
    INTO _current_status, _abort_requested;
    IF _current_status = 'doing' AND _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status IN ('doing', 'failed')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or has an invalid status to retry (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'abort_requested'::procrastinate_job_event_type);
    RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type, at)
        VALUES (NEW.id, 'scheduled'::procrastinate_job_event_type, NEW.scheduled_at);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'deferred'::procrastinate_job_event_type);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_update_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH t AS (
        SELECT CASE
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND NEW.status = 'doing'::procrastinate_job_status
                THEN 'started'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'deferred_for_retry'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'failed'::procrastinate_job_status
                THEN 'failed'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'succeeded'::procrastinate_job_status
                THEN 'succeeded'::procrastinate_job_event_type
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND (
                    NEW.status = 'cancelled'::procrastinate_job_status
                    OR NEW.status = 'failed'::procrastinate_job_status
                    OR NEW.status = 'succeeded'::procrastinate_job_status
                )
                THEN 'cancelled'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'aborted'::procrastinate_job_status
                THEN 'aborted'::procrastinate_job_event_type
            WHEN OLD.status = 'failed'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'retried'::procrastinate_job_event_type
            ELSE NULL
        END as event_type
    )
    INSERT INTO procrastinate_events(job_id, type)
        SELECT NEW.id, t.event_type
        FROM t
        WHERE t.event_type IS NOT NULL;
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;
CREATE FUNCTION public.procrastinate_unregister_worker_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM procrastinate_workers
    WHERE id = worker_id;
END;
$$;
CREATE FUNCTION public.procrastinate_update_heartbeat_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_workers
    SET last_heartbeat = NOW()
    WHERE id = worker_id;
END;
$$;
CREATE TABLE public.account_emailaddress (
    id integer NOT NULL,
    email character varying(254) NOT NULL,
    verified boolean NOT NULL,
    "primary" boolean NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.account_emailaddress ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailaddress_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.account_emailconfirmation (
    id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    sent timestamp with time zone,
    key character varying(64) NOT NULL,
    email_address_id integer NOT NULL
);
ALTER TABLE public.account_emailconfirmation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailconfirmation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_apikey (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    prefix character varying(12) NOT NULL,
    secret_hash character varying(64) NOT NULL,
    scopes text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    user_id integer NOT NULL,
    expires_at timestamp with time zone,
    tool_lists text
);
ALTER TABLE public.approvals_apikey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_apikey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_approvalrequest (
    id uuid NOT NULL,
    scope character varying(64) NOT NULL,
    step_path text NOT NULL,
    kind character varying(10) NOT NULL,
    title character varying(200) NOT NULL,
    message text NOT NULL,
    tool_name character varying(100) NOT NULL,
    tool_call_id character varying(200),
    attempt integer NOT NULL,
    input text NOT NULL,
    input_digest character varying(71) NOT NULL,
    response_schema text,
    options text NOT NULL,
    multiple boolean NOT NULL,
    allow_text boolean NOT NULL,
    field_name character varying(100) NOT NULL,
    suggestions text NOT NULL,
    context text,
    priority character varying(8) NOT NULL,
    urgency smallint NOT NULL,
    deadline_at timestamp with time zone,
    has_default boolean NOT NULL,
    default_response text,
    source_url character varying(500) NOT NULL,
    status character varying(9) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    assigned_to_id integer,
    requested_by_id integer NOT NULL,
    workflow_id bigint NOT NULL,
    ask_digest character varying(71) NOT NULL,
    callback_url character varying(500) NOT NULL,
    idempotency_key character varying(200),
    agent character varying(100) NOT NULL,
    claimed_at timestamp with time zone,
    claimed_by_id integer,
    claimed_name character varying(300) NOT NULL,
    touched_at timestamp with time zone,
    words integer,
    said_before text NOT NULL,
    amount_pointer character varying(200),
    taker character varying(200),
    taken_by character varying(300),
    taken_at timestamp with time zone,
    CONSTRAINT approvals_approvalrequest_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT approvals_approvalrequest_urgency_check CHECK ((urgency >= 0)),
    CONSTRAINT approvals_approvalrequest_words_check CHECK ((words >= 0)),
    CONSTRAINT request_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying, 'rejected'::character varying, 'answered'::character varying, 'cancelled'::character varying, 'expired'::character varying])::text[])))
);
CREATE TABLE public.approvals_auditentry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    event character varying(40) NOT NULL,
    scope character varying(64) NOT NULL,
    dedup_key character varying(300),
    run_id character varying(200) NOT NULL,
    request_id uuid,
    thread_id character varying(200) NOT NULL,
    agent character varying(100) NOT NULL,
    tool_name character varying(100) NOT NULL,
    tool_call_id character varying(200) NOT NULL,
    actor_id bigint,
    actor_name character varying(300) NOT NULL,
    via character varying(20) NOT NULL,
    body text NOT NULL,
    digest character varying(71) NOT NULL,
    retry_count integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    open_after integer,
    verdict character varying(8) DEFAULT ''::character varying NOT NULL,
    amount double precision,
    CONSTRAINT approvals_auditentry_open_after_check CHECK ((open_after >= 0)),
    CONSTRAINT approvals_auditentry_retry_count_check CHECK ((retry_count >= 0))
);
ALTER TABLE public.approvals_auditentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_auditentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_decision (
    id bigint NOT NULL,
    verdict character varying(8) NOT NULL,
    by_id bigint,
    by_name character varying(300) NOT NULL,
    via character varying(20) NOT NULL,
    comment text NOT NULL,
    edited_input text,
    approved_digest character varying(71) NOT NULL,
    answer text,
    decided_at timestamp with time zone NOT NULL,
    request_id uuid NOT NULL
);
ALTER TABLE public.approvals_decision ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_decision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_eventstream (
    id bigint NOT NULL,
    name character varying(300) NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT approvals_eventstream_last_check CHECK ((last >= 0))
);
ALTER TABLE public.approvals_eventstream ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_eventstream_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_invitation (
    person_id integer NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    invited_by character varying(300) NOT NULL,
    mailed boolean NOT NULL
);
CREATE TABLE public.approvals_lastnotice (
    id bigint NOT NULL,
    recipient character varying(40) NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE public.approvals_lastnotice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_lastnotice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_notificationrule (
    id bigint NOT NULL,
    route character varying(5) NOT NULL,
    slack_url character varying(500) NOT NULL,
    min_priority character varying(8) NOT NULL,
    tool_name character varying(100) NOT NULL,
    active boolean NOT NULL,
    group_id integer,
    person_id integer,
    CONSTRAINT notification_rule_one_audience CHECK ((((group_id IS NULL) AND (person_id IS NOT NULL)) OR ((group_id IS NOT NULL) AND (person_id IS NULL))))
);
ALTER TABLE public.approvals_notificationrule ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_notificationrule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_outboxevent (
    id bigint NOT NULL,
    event_id uuid NOT NULL,
    name character varying(40) NOT NULL,
    stream character varying(300) NOT NULL,
    target character varying(600) NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    dead_at timestamp with time zone,
    attempts integer NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    last_error text NOT NULL,
    channel character varying(8) NOT NULL,
    lane character varying(300) NOT NULL,
    sent_again_at timestamp with time zone,
    sequence bigint NOT NULL,
    CONSTRAINT approvals_outboxevent_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT approvals_outboxevent_sequence_check CHECK ((sequence >= 0))
);
ALTER TABLE public.approvals_outboxevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_outboxevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_pendingchange (
    id bigint NOT NULL,
    kind character varying(16) NOT NULL,
    value text,
    requested_at timestamp with time zone NOT NULL,
    person_id integer NOT NULL,
    requested_by_id integer NOT NULL
);
ALTER TABLE public.approvals_pendingchange ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_pendingchange_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_personsession (
    id bigint NOT NULL,
    session_key character varying(40) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    address character varying(45) NOT NULL,
    browser character varying(300) NOT NULL,
    person_id integer NOT NULL,
    last_active_at timestamp with time zone
);
ALTER TABLE public.approvals_personsession ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_personsession_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_preferences (
    person_id integer NOT NULL,
    theme character varying(6) NOT NULL,
    density character varying(11) NOT NULL,
    split boolean NOT NULL,
    open_next boolean NOT NULL,
    shortcuts boolean NOT NULL,
    hold_seconds smallint NOT NULL,
    muted text NOT NULL,
    quiet_from time without time zone,
    quiet_until time without time zone,
    setup_dismissed boolean NOT NULL,
    time_zone character varying(64) NOT NULL,
    language character varying(20) DEFAULT ''::character varying NOT NULL,
    CONSTRAINT approvals_preferences_hold_seconds_check CHECK ((hold_seconds >= 0)),
    CONSTRAINT preferences_hold_seconds CHECK ((hold_seconds <= 30)),
    CONSTRAINT preferences_quiet_hours CHECK ((((quiet_from IS NULL) AND (quiet_until IS NULL)) OR ((quiet_from IS NOT NULL) AND (quiet_until IS NOT NULL))))
);
CREATE TABLE public.approvals_prioritysettings (
    priority character varying(8) NOT NULL,
    reason_required boolean NOT NULL
);
CREATE TABLE public.approvals_pushsubscription (
    id bigint NOT NULL,
    endpoint character varying(500) NOT NULL,
    p256dh character varying(100) NOT NULL,
    auth character varying(40) NOT NULL,
    browser character varying(300) NOT NULL,
    session_key character varying(40) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    person_id integer NOT NULL
);
ALTER TABLE public.approvals_pushsubscription ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_pushsubscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_requestcomment (
    id bigint NOT NULL,
    by_id bigint NOT NULL,
    by_name character varying(300) NOT NULL,
    via character varying(20) NOT NULL,
    text text NOT NULL,
    at timestamp with time zone NOT NULL,
    request_id uuid NOT NULL
);
ALTER TABLE public.approvals_requestcomment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_requestcomment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_resumestate (
    request_id uuid NOT NULL,
    sealed text NOT NULL
);
CREATE TABLE public.approvals_resumption (
    request_id uuid NOT NULL,
    token_digest character varying(64) NOT NULL,
    holder character varying(403) NOT NULL,
    attempt integer NOT NULL,
    taken_at timestamp with time zone,
    leased_until timestamp with time zone,
    lost_by character varying(403) NOT NULL,
    lost_at timestamp with time zone,
    completed_at timestamp with time zone,
    CONSTRAINT approvals_resumption_attempt_check CHECK ((attempt >= 0))
);
CREATE TABLE public.approvals_role (
    id bigint NOT NULL,
    name character varying(16) NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.approvals_role ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_role_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_savedview (
    id bigint NOT NULL,
    name character varying(60) NOT NULL,
    query character varying(2000) NOT NULL,
    shared boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    owner_id integer NOT NULL,
    page character varying(5) DEFAULT 'inbox'::character varying NOT NULL
);
ALTER TABLE public.approvals_savedview ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_savedview_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_searchtext (
    id bigint NOT NULL,
    words text NOT NULL,
    request_id uuid NOT NULL
);
ALTER TABLE public.approvals_searchtext ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_searchtext_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_signingsecret (
    id bigint NOT NULL,
    nonce character varying(64) NOT NULL,
    fingerprint character varying(16) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    api_key_id bigint,
    endpoint_id bigint,
    CONSTRAINT signing_secret_one_owner CHECK ((((api_key_id IS NULL) AND (endpoint_id IS NOT NULL)) OR ((api_key_id IS NOT NULL) AND (endpoint_id IS NULL))))
);
ALTER TABLE public.approvals_signingsecret ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_signingsecret_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_snooze (
    id bigint NOT NULL,
    until timestamp with time zone NOT NULL,
    until_reply boolean NOT NULL,
    person_id integer NOT NULL,
    request_id uuid NOT NULL
);
ALTER TABLE public.approvals_snooze ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_snooze_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_toolsettings (
    id bigint NOT NULL,
    tool_name character varying(100) NOT NULL,
    key_fields text NOT NULL,
    reason_required boolean NOT NULL,
    min_priority character varying(8) NOT NULL,
    prepared_answers text NOT NULL
);
ALTER TABLE public.approvals_toolsettings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_toolsettings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_webhookendpoint (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    url character varying(500) NOT NULL,
    events text NOT NULL,
    include_payload boolean NOT NULL,
    active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE public.approvals_webhookendpoint ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_webhookendpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_worker (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    kind character varying(6) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    running integer NOT NULL,
    CONSTRAINT approvals_worker_running_check CHECK ((running >= 0))
);
ALTER TABLE public.approvals_worker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_worker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_workflow (
    id bigint NOT NULL,
    scope character varying(64) NOT NULL,
    key character varying(200) NOT NULL,
    title character varying(200) NOT NULL,
    source character varying(20) NOT NULL,
    agent character varying(100) NOT NULL,
    thread_id character varying(200) NOT NULL,
    thread_url character varying(500) NOT NULL,
    state character varying(12) NOT NULL,
    open_count integer NOT NULL,
    urgency smallint,
    suspended_at timestamp with time zone,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    owner_id integer NOT NULL,
    CONSTRAINT approvals_workflow_open_count_check CHECK ((open_count >= 0)),
    CONSTRAINT approvals_workflow_urgency_check CHECK ((urgency >= 0))
);
ALTER TABLE public.approvals_workflow ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_workflow_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user (
    id integer NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL
);
CREATE TABLE public.auth_user_groups (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user_user_permissions (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_attachment (
    id bigint NOT NULL,
    file_id uuid NOT NULL,
    media_type character varying(50) NOT NULL,
    name character varying(200) NOT NULL,
    size integer NOT NULL,
    digest character varying(71) NOT NULL,
    content bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    chat_id bigint NOT NULL,
    CONSTRAINT chats_attachment_size_check CHECK ((size >= 0))
);
ALTER TABLE public.chats_attachment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_attachment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_chat (
    id bigint NOT NULL,
    public_id character varying(200) NOT NULL,
    agent character varying(100) NOT NULL,
    title character varying(200) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    owner_id integer NOT NULL,
    root_id bigint,
    pruned_at timestamp with time zone,
    branch_token character varying(32),
    branched_at bigint,
    branched_from_id bigint
);
ALTER TABLE public.chats_chat ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_chat_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_message (
    id bigint NOT NULL,
    message_id character varying(200) NOT NULL,
    role character varying(10) NOT NULL,
    parts text NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    chat_id bigint NOT NULL,
    cut_at timestamp with time zone,
    metadata text,
    CONSTRAINT chats_message_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.chats_message ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_modelprice (
    id bigint NOT NULL,
    prefix character varying(100) NOT NULL,
    valid_from date NOT NULL,
    above integer NOT NULL,
    currency character varying(3) NOT NULL,
    input numeric(12,4) NOT NULL,
    cache_write numeric(12,4) NOT NULL,
    cache_read numeric(12,4) NOT NULL,
    output numeric(12,4) NOT NULL,
    service_tier character varying(50) NOT NULL,
    cache_write_hour numeric(12,4),
    searches numeric(12,4),
    CONSTRAINT chats_modelprice_above_check CHECK ((above >= 0))
);
ALTER TABLE public.chats_modelprice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_modelprice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_step (
    id bigint NOT NULL,
    index integer NOT NULL,
    blocks text NOT NULL,
    provider character varying(50) NOT NULL,
    model character varying(100) NOT NULL,
    stop_reason character varying(50) NOT NULL,
    usage text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    turn_id bigint NOT NULL,
    prefix character varying(100) NOT NULL,
    stop_details text NOT NULL,
    answered_by text NOT NULL,
    CONSTRAINT chats_step_index_check CHECK ((index >= 0))
);
ALTER TABLE public.chats_step ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_step_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_toolcall (
    id bigint NOT NULL,
    tool_call_id character varying(200) NOT NULL,
    name character varying(100) NOT NULL,
    input text NOT NULL,
    state character varying(10) NOT NULL,
    attempt integer NOT NULL,
    output text,
    error_text text NOT NULL,
    executed_digest character varying(71) NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    approval_id uuid,
    chat_id bigint NOT NULL,
    recovery_id uuid,
    step_id bigint NOT NULL,
    turn_id bigint NOT NULL,
    CONSTRAINT chats_toolcall_attempt_check CHECK ((attempt >= 0))
);
ALTER TABLE public.chats_toolcall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_toolcall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_turn (
    id bigint NOT NULL,
    run_id uuid NOT NULL,
    message_id character varying(200) NOT NULL,
    agent character varying(100) NOT NULL,
    agent_version character varying(50) NOT NULL,
    state character varying(10) NOT NULL,
    finish_reason character varying(15) NOT NULL,
    stopped boolean NOT NULL,
    stopped_by character varying(300) NOT NULL,
    attempt integer NOT NULL,
    lease_owner character varying(100) NOT NULL,
    lease_until timestamp with time zone,
    usage text NOT NULL,
    error text NOT NULL,
    depth smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    chat_id bigint NOT NULL,
    parent_call_id bigint,
    root_id bigint,
    source character varying(20) NOT NULL,
    events_pruned boolean NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT chats_turn_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT chats_turn_depth_check CHECK ((depth >= 0)),
    CONSTRAINT chats_turn_version_check CHECK ((version >= 0))
);
ALTER TABLE public.chats_turn ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_turn_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_turncheckpoint (
    id bigint NOT NULL,
    chat_pk bigint NOT NULL,
    turn_pk bigint NOT NULL,
    run_id uuid NOT NULL,
    message_id character varying(200) NOT NULL,
    ordinal integer NOT NULL,
    kind character varying(7) NOT NULL,
    finish_reason character varying(15) NOT NULL,
    stopped boolean NOT NULL,
    error text NOT NULL,
    kept integer NOT NULL,
    tail text NOT NULL,
    digest character varying(71) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT chats_turncheckpoint_kept_check CHECK ((kept >= 0)),
    CONSTRAINT chats_turncheckpoint_ordinal_check CHECK ((ordinal >= 0))
);
ALTER TABLE public.chats_turncheckpoint ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_turncheckpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chats_turnevent (
    id bigint NOT NULL,
    seq integer NOT NULL,
    attempt integer NOT NULL,
    step integer NOT NULL,
    chunk text NOT NULL,
    turn_id bigint NOT NULL,
    CONSTRAINT chats_turnevent_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT chats_turnevent_seq_check CHECK ((seq >= 0)),
    CONSTRAINT chats_turnevent_step_check CHECK ((step >= 0))
);
ALTER TABLE public.chats_turnevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.chats_turnevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id integer NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.pausepoint_maintenance (
    reason character varying(200) NOT NULL
);
CREATE TABLE public.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type public.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
);
CREATE SEQUENCE public.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_events_id_seq OWNED BY public.procrastinate_events.id;
CREATE SEQUENCE public.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_jobs_id_seq OWNED BY public.procrastinate_jobs.id;
CREATE TABLE public.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);
CREATE SEQUENCE public.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_periodic_defers_id_seq OWNED BY public.procrastinate_periodic_defers.id;
CREATE TABLE public.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_events_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_jobs_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_periodic_defers_id_seq'::regclass);
COPY public.account_emailaddress (id, email, verified, "primary", user_id) FROM stdin;
\.
COPY public.account_emailconfirmation (id, created, sent, key, email_address_id) FROM stdin;
\.
COPY public.approvals_apikey (id, name, prefix, secret_hash, scopes, created_at, last_used_at, revoked_at, user_id, expires_at, tool_lists) FROM stdin;
\.
COPY public.approvals_approvalrequest (id, scope, step_path, kind, title, message, tool_name, tool_call_id, attempt, input, input_digest, response_schema, options, multiple, allow_text, field_name, suggestions, context, priority, urgency, deadline_at, has_default, default_response, source_url, status, created_at, changed_at, assigned_to_id, requested_by_id, workflow_id, ask_digest, callback_url, idempotency_key, agent, claimed_at, claimed_by_id, claimed_name, touched_at, words, said_before, amount_pointer, taker, taken_by, taken_at) FROM stdin;
22d5ec3c-9a1c-4e86-979e-58cec302530e	chat:1	["issueRefund"]	approval	Run issueRefund?	Pay money back for an order. From 100 euros upwards a person has to approve it.	issueRefund	call_ad508656a54e461c8f4ac012	1	{"amount": 260, "orderId": "4712"}	sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e	{"additionalProperties": false, "properties": {"amount": {"exclusiveMinimum": 0, "maximum": 100000, "title": "Amount", "type": "number"}, "orderId": {"maxLength": 50, "minLength": 1, "title": "Orderid", "type": "string"}}, "required": ["amount", "orderId"], "title": "issueRefund", "type": "object"}	[]	f	f		[]	\N	high	1	\N	f	\N		approved	2026-11-24 12:33:45.238849+00	2026-11-24 12:33:45.879765+00	\N	1	1			\N	support	\N	\N		\N	22	[{"role": "user", "text": "Please refund order 4712, 260 euros"}, {"role": "assistant", "text": "Let me refund order 4712."}]	\N	\N	\N	\N
468e627c-cdff-4ae2-a2ac-00b3866ed445	chat:2	["issueRefund"]	approval	Run issueRefund?	Pay money back for an order. From 100 euros upwards a person has to approve it.	issueRefund	call_c1f58a704b0e40c4a36ccb85	1	{"amount": 250, "orderId": "4711"}	sha256:c32425e1bfedd9b352eb43a0ffa57a919ea4bd03d59a879a1471a1d956820335	{"additionalProperties": false, "properties": {"amount": {"exclusiveMinimum": 0, "maximum": 100000, "title": "Amount", "type": "number"}, "orderId": {"maxLength": 50, "minLength": 1, "title": "Orderid", "type": "string"}}, "required": ["amount", "orderId"], "title": "issueRefund", "type": "object"}	[]	f	f		[]	\N	high	1	\N	f	\N		pending	2026-11-24 12:33:46.51988+00	2026-11-24 12:33:46.51988+00	\N	1	2			\N	support	\N	\N		\N	22	[{"role": "user", "text": "Please refund order 4711, 250 euros"}, {"role": "assistant", "text": "Let me refund order 4711."}]	\N	\N	\N	\N
3cd91c95-3076-4160-b7af-fa8b91ab4dca	chat:3	["askUser"]	question	Which delivery do you prefer?		askUser	call_2941fa8e45f44b5592cce49c	1	{"question": "Which delivery do you prefer?", "options": [{"id": "standard", "label": "Standard", "description": "3 to 5 days, free"}, {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"}], "multiSelect": false, "fieldName": "delivery"}	sha256:5b6835ca878f20461532e1046a5cc50717b3fd84dc0045a10d2d44e7bd54e95f	\N	[{"label": "Standard", "id": "standard", "description": "3 to 5 days, free"}, {"label": "Express", "id": "express", "description": "Tomorrow, 9 euros"}]	f	t	delivery	[]	\N	normal	2	\N	f	\N		pending	2026-11-24 12:33:46.838977+00	2026-11-24 12:33:46.838977+00	\N	1	3			\N	support	\N	\N		\N	15	[{"role": "user", "text": "ask me something"}, {"role": "assistant", "text": "I need to know one thing before I go on."}]	\N	\N	\N	\N
\.
COPY public.approvals_auditentry (id, at, event, scope, dedup_key, run_id, request_id, thread_id, agent, tool_name, tool_call_id, actor_id, actor_name, via, body, digest, retry_count, last_seen_at, open_after, verdict, amount) FROM stdin;
1	2026-11-24 12:33:39.431305+00	login.succeeded	desk	\N		\N					1	requester	dashboard	{"actor_id":1,"actor_name":"requester","agent":"","at":"2026-11-24T12:33:39.431305Z","data":{"address":"127.0.0.1"},"event":"login.succeeded","request_id":null,"run_id":"","scope":"desk","thread_id":"","tool_call_id":"","tool_name":"","via":"dashboard"}	sha256:10a3869e15e58812e04a88f9d208b46f77e33ef022b3458c3daac354593d7c54	0	2026-11-24 12:33:39.431305+00	\N		\N
2	2026-11-24 12:33:41.544243+00	login.succeeded	desk	\N		\N					2	approver	dashboard	{"actor_id":2,"actor_name":"approver","agent":"","at":"2026-11-24T12:33:41.544243Z","data":{"address":"127.0.0.1"},"event":"login.succeeded","request_id":null,"run_id":"","scope":"desk","thread_id":"","tool_call_id":"","tool_name":"","via":"dashboard"}	sha256:a871be1bb4414bd32f893cd4c97bbc5775d882b7caed3521ed4a5d2dadf394d9	0	2026-11-24 12:33:41.544243+00	\N		\N
3	2026-11-24 12:33:45.259874+00	request.created	chat:1	\N	fbe3c679-e9e1-4d58-8734-411d35779c0c	22d5ec3c-9a1c-4e86-979e-58cec302530e	af70f140fcfe4ca8b19dbd68df50c7a5	support	issueRefund	call_ad508656a54e461c8f4ac012	1	requester	chat	{"actor_id":1,"actor_name":"requester","agent":"support","amount":260,"at":"2026-11-24T12:33:45.259874Z","data":{"input":{"amount":260,"orderId":"4712"},"input_digest":"sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e","kind":"approval","title":"Run issueRefund?"},"event":"request.created","request_id":"22d5ec3c-9a1c-4e86-979e-58cec302530e","run_id":"fbe3c679-e9e1-4d58-8734-411d35779c0c","scope":"chat:1","thread_id":"af70f140fcfe4ca8b19dbd68df50c7a5","tool_call_id":"call_ad508656a54e461c8f4ac012","tool_name":"issueRefund","via":"chat"}	sha256:9b8cac8194966ada501afbc58a5f33b7ac22a122b3b72a83c70e218c5d674938	0	2026-11-24 12:33:45.259874+00	1		260
4	2026-11-24 12:33:45.879765+00	request.decided	chat:1	\N	fbe3c679-e9e1-4d58-8734-411d35779c0c	22d5ec3c-9a1c-4e86-979e-58cec302530e	af70f140fcfe4ca8b19dbd68df50c7a5	support	issueRefund	call_ad508656a54e461c8f4ac012	2	approver	dashboard	{"actor_id":2,"actor_name":"approver","agent":"support","amount":260,"at":"2026-11-24T12:33:45.879765Z","data":{"answer":null,"approved_digest":"sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e","comment":"","edited_input":null,"verdict":"approve"},"event":"request.decided","request_id":"22d5ec3c-9a1c-4e86-979e-58cec302530e","run_id":"fbe3c679-e9e1-4d58-8734-411d35779c0c","scope":"chat:1","thread_id":"af70f140fcfe4ca8b19dbd68df50c7a5","tool_call_id":"call_ad508656a54e461c8f4ac012","tool_name":"issueRefund","via":"dashboard"}	sha256:bf54e64d4adcfb515e8caf7a6df74729881ed8cda5446af9cd05e984d085352a	0	2026-11-24 12:33:45.879765+00	0	approve	260
5	2026-11-24 12:33:46.049045+00	tool.result	chat:1	tool.result:chat:1:call_ad508656a54e461c8f4ac012	fbe3c679-e9e1-4d58-8734-411d35779c0c	22d5ec3c-9a1c-4e86-979e-58cec302530e	af70f140fcfe4ca8b19dbd68df50c7a5	support	issueRefund	call_ad508656a54e461c8f4ac012	\N		system	{"actor_id":null,"actor_name":"","agent":"support","amount":260,"at":"2026-11-24T12:33:46.049045Z","data":{"error_text":"","executed_digest":"sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e","executions":1,"input":{"amount":260,"orderId":"4712"},"input_digest":"sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e","output":{"amount":260,"executions":1,"orderId":"4712","status":"refunded"},"state":"succeeded"},"event":"tool.result","request_id":"22d5ec3c-9a1c-4e86-979e-58cec302530e","run_id":"fbe3c679-e9e1-4d58-8734-411d35779c0c","scope":"chat:1","thread_id":"af70f140fcfe4ca8b19dbd68df50c7a5","tool_call_id":"call_ad508656a54e461c8f4ac012","tool_name":"issueRefund","via":"system"}	sha256:361c7c23eaa95987c91d07af870fcf5ccb61ace451cd0b82f05055e86bfe3e3e	0	2026-11-24 12:33:46.049045+00	\N		260
6	2026-11-24 12:33:46.531386+00	request.created	chat:2	\N	fb01d67b-5810-4e01-8c5c-f791d3e4e8ac	468e627c-cdff-4ae2-a2ac-00b3866ed445	572c17dd8b5a466880a71d07529f85bd	support	issueRefund	call_c1f58a704b0e40c4a36ccb85	1	requester	chat	{"actor_id":1,"actor_name":"requester","agent":"support","amount":250,"at":"2026-11-24T12:33:46.531386Z","data":{"input":{"amount":250,"orderId":"4711"},"input_digest":"sha256:c32425e1bfedd9b352eb43a0ffa57a919ea4bd03d59a879a1471a1d956820335","kind":"approval","title":"Run issueRefund?"},"event":"request.created","request_id":"468e627c-cdff-4ae2-a2ac-00b3866ed445","run_id":"fb01d67b-5810-4e01-8c5c-f791d3e4e8ac","scope":"chat:2","thread_id":"572c17dd8b5a466880a71d07529f85bd","tool_call_id":"call_c1f58a704b0e40c4a36ccb85","tool_name":"issueRefund","via":"chat"}	sha256:58cfc6d908928131448c91c181734b23ef4b2eca9ad5be38e54aabec409e652d	0	2026-11-24 12:33:46.531386+00	1		250
7	2026-11-24 12:33:46.841694+00	request.created	chat:3	\N	5c01a96a-9328-4cae-9382-a5b8cc5c6f64	3cd91c95-3076-4160-b7af-fa8b91ab4dca	50d8a8a3dff447279a4aa82d04375fa6	support	askUser	call_2941fa8e45f44b5592cce49c	1	requester	chat	{"actor_id":1,"actor_name":"requester","agent":"support","at":"2026-11-24T12:33:46.841694Z","data":{"input":{"fieldName":"delivery","multiSelect":false,"options":[{"description":"3 to 5 days, free","id":"standard","label":"Standard"},{"description":"Tomorrow, 9 euros","id":"express","label":"Express"}],"question":"Which delivery do you prefer?"},"input_digest":"sha256:5b6835ca878f20461532e1046a5cc50717b3fd84dc0045a10d2d44e7bd54e95f","kind":"question","title":"Which delivery do you prefer?"},"event":"request.created","request_id":"3cd91c95-3076-4160-b7af-fa8b91ab4dca","run_id":"5c01a96a-9328-4cae-9382-a5b8cc5c6f64","scope":"chat:3","thread_id":"50d8a8a3dff447279a4aa82d04375fa6","tool_call_id":"call_2941fa8e45f44b5592cce49c","tool_name":"askUser","via":"chat"}	sha256:f2028646252a3dec3d489e95718f37ddc273c83e1ecc1f9a67987000dc3f932d	0	2026-11-24 12:33:46.841694+00	1		\N
\.
COPY public.approvals_decision (id, verdict, by_id, by_name, via, comment, edited_input, approved_digest, answer, decided_at, request_id) FROM stdin;
1	approve	2	approver	dashboard		\N	sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e	\N	2026-11-24 12:33:45.879765+00	22d5ec3c-9a1c-4e86-979e-58cec302530e
\.
COPY public.approvals_eventstream (id, name, last) FROM stdin;
\.
COPY public.approvals_invitation (person_id, sent_at, expires_at, invited_by, mailed) FROM stdin;
\.
COPY public.approvals_lastnotice (id, recipient, at) FROM stdin;
\.
COPY public.approvals_notificationrule (id, route, slack_url, min_priority, tool_name, active, group_id, person_id) FROM stdin;
\.
COPY public.approvals_outboxevent (id, event_id, name, stream, target, payload, created_at, delivered_at, dead_at, attempts, next_attempt_at, last_error, channel, lane, sent_again_at, sequence) FROM stdin;
\.
COPY public.approvals_pendingchange (id, kind, value, requested_at, person_id, requested_by_id) FROM stdin;
\.
COPY public.approvals_personsession (id, session_key, started_at, address, browser, person_id, last_active_at) FROM stdin;
\.
COPY public.approvals_preferences (person_id, theme, density, split, open_next, shortcuts, hold_seconds, muted, quiet_from, quiet_until, setup_dismissed, time_zone, language) FROM stdin;
\.
COPY public.approvals_prioritysettings (priority, reason_required) FROM stdin;
\.
COPY public.approvals_pushsubscription (id, endpoint, p256dh, auth, browser, session_key, created_at, person_id) FROM stdin;
\.
COPY public.approvals_requestcomment (id, by_id, by_name, via, text, at, request_id) FROM stdin;
\.
COPY public.approvals_resumestate (request_id, sealed) FROM stdin;
\.
COPY public.approvals_resumption (request_id, token_digest, holder, attempt, taken_at, leased_until, lost_by, lost_at, completed_at) FROM stdin;
\.
COPY public.approvals_role (id, name, group_id) FROM stdin;
1	requester	1
2	approver	2
3	auditor	3
4	administrator	4
\.
COPY public.approvals_savedview (id, name, query, shared, created_at, owner_id, page) FROM stdin;
\.
COPY public.approvals_searchtext (id, words, request_id) FROM stdin;
1	run issuerefund issue refund pay money back for an order from 100 euros upwards a person has to approve it call ad508656a54e461c8f4ac012 amount 260 orderid id 4712 0 status refunded executions 1	22d5ec3c-9a1c-4e86-979e-58cec302530e
2	run issuerefund issue refund pay money back for an order from 100 euros upwards a person has to approve it call c1f58a704b0e40c4a36ccb85 amount 250 orderid id 4711	468e627c-cdff-4ae2-a2ac-00b3866ed445
3	which delivery do you prefer askuser ask user call 2941fa8e45f44b5592cce49c question options id standard label description 3 to 5 days free express tomorrow 9 euros multiselect multi select fieldname field name	3cd91c95-3076-4160-b7af-fa8b91ab4dca
\.
COPY public.approvals_signingsecret (id, nonce, fingerprint, created_at, expires_at, api_key_id, endpoint_id) FROM stdin;
\.
COPY public.approvals_snooze (id, until, until_reply, person_id, request_id) FROM stdin;
\.
COPY public.approvals_toolsettings (id, tool_name, key_fields, reason_required, min_priority, prepared_answers) FROM stdin;
\.
COPY public.approvals_webhookendpoint (id, name, url, events, include_payload, active, created_at) FROM stdin;
\.
COPY public.approvals_worker (id, name, kind, started_at, seen_at, running) FROM stdin;
\.
COPY public.approvals_workflow (id, scope, key, title, source, agent, thread_id, thread_url, state, open_count, urgency, suspended_at, started_at, ended_at, owner_id) FROM stdin;
1	chat:1	fbe3c679-e9e1-4d58-8734-411d35779c0c	Please refund order 4712, 260 euros	chat	support	af70f140fcfe4ca8b19dbd68df50c7a5	/chats/1/	completed	0	\N	\N	2026-11-24 12:33:45.208665+00	2026-11-24 12:33:46.329198+00	1
2	chat:2	fb01d67b-5810-4e01-8c5c-f791d3e4e8ac	Please refund order 4711, 250 euros	chat	support	572c17dd8b5a466880a71d07529f85bd	/chats/2/	suspended	1	1	2026-11-24 12:33:46.51988+00	2026-11-24 12:33:46.513711+00	\N	1
3	chat:3	5c01a96a-9328-4cae-9382-a5b8cc5c6f64	ask me something	chat	support	50d8a8a3dff447279a4aa82d04375fa6	/chats/3/	suspended	1	2	2026-11-24 12:33:46.838977+00	2026-11-24 12:33:46.833198+00	\N	1
\.
COPY public.auth_group (id, name) FROM stdin;
1	Requester
2	Approver
3	Auditor
4	Administrator
\.
COPY public.auth_group_permissions (id, group_id, permission_id) FROM stdin;
1	2	40
2	2	41
3	3	40
4	3	45
5	4	40
6	4	45
7	4	94
\.
COPY public.auth_permission (id, name, content_type_id, codename) FROM stdin;
1	Can add log entry	1	add_logentry
2	Can change log entry	1	change_logentry
3	Can delete log entry	1	delete_logentry
4	Can view log entry	1	view_logentry
5	Can add permission	2	add_permission
6	Can change permission	2	change_permission
7	Can delete permission	2	delete_permission
8	Can view permission	2	view_permission
9	Can add group	3	add_group
10	Can change group	3	change_group
11	Can delete group	3	delete_group
12	Can view group	3	view_group
13	Can add user	4	add_user
14	Can change user	4	change_user
15	Can delete user	4	delete_user
16	Can view user	4	view_user
17	Can add content type	5	add_contenttype
18	Can change content type	5	change_contenttype
19	Can delete content type	5	delete_contenttype
20	Can view content type	5	view_contenttype
21	Can add session	6	add_session
22	Can change session	6	change_session
23	Can delete session	6	delete_session
24	Can view session	6	view_session
25	Can add email address	7	add_emailaddress
26	Can change email address	7	change_emailaddress
27	Can delete email address	7	delete_emailaddress
28	Can view email address	7	view_emailaddress
29	Can add email confirmation	8	add_emailconfirmation
30	Can change email confirmation	8	change_emailconfirmation
31	Can delete email confirmation	8	delete_emailconfirmation
32	Can view email confirmation	8	view_emailconfirmation
33	Can add API key	9	add_apikey
34	Can change API key	9	change_apikey
35	Can delete API key	9	delete_apikey
36	Can view API key	9	view_apikey
37	Can add approval request	10	add_approvalrequest
38	Can change approval request	10	change_approvalrequest
39	Can delete approval request	10	delete_approvalrequest
40	Can view approval request	10	view_approvalrequest
41	Can decide requests	10	decide_approvalrequest
42	Can add audit entry	11	add_auditentry
43	Can change audit entry	11	change_auditentry
44	Can delete audit entry	11	delete_auditentry
45	Can view audit entry	11	view_auditentry
46	Can add decision	12	add_decision
47	Can change decision	12	change_decision
48	Can delete decision	12	delete_decision
49	Can view decision	12	view_decision
50	Can add workflow	13	add_workflow
51	Can change workflow	13	change_workflow
52	Can delete workflow	13	delete_workflow
53	Can view workflow	13	view_workflow
54	Can add outbox event	14	add_outboxevent
55	Can change outbox event	14	change_outboxevent
56	Can delete outbox event	14	delete_outboxevent
57	Can view outbox event	14	view_outboxevent
58	Can add event stream	15	add_eventstream
59	Can change event stream	15	change_eventstream
60	Can delete event stream	15	delete_eventstream
61	Can view event stream	15	view_eventstream
62	Can add last notice	16	add_lastnotice
63	Can change last notice	16	change_lastnotice
64	Can delete last notice	16	delete_lastnotice
65	Can view last notice	16	view_lastnotice
66	Can add notification rule	17	add_notificationrule
67	Can change notification rule	17	change_notificationrule
68	Can delete notification rule	17	delete_notificationrule
69	Can view notification rule	17	view_notificationrule
70	Can add signing secret	18	add_signingsecret
71	Can change signing secret	18	change_signingsecret
72	Can delete signing secret	18	delete_signingsecret
73	Can view signing secret	18	view_signingsecret
74	Can add webhook endpoint	19	add_webhookendpoint
75	Can change webhook endpoint	19	change_webhookendpoint
76	Can delete webhook endpoint	19	delete_webhookendpoint
77	Can view webhook endpoint	19	view_webhookendpoint
78	Can add worker	20	add_worker
79	Can change worker	20	change_worker
80	Can delete worker	20	delete_worker
81	Can view worker	20	view_worker
82	Can add search text	21	add_searchtext
83	Can change search text	21	change_searchtext
84	Can delete search text	21	delete_searchtext
85	Can view search text	21	view_searchtext
86	Can add request comment	22	add_requestcomment
87	Can change request comment	22	change_requestcomment
88	Can delete request comment	22	delete_requestcomment
89	Can view request comment	22	view_requestcomment
90	Can add tool settings	23	add_toolsettings
91	Can change tool settings	23	change_toolsettings
92	Can delete tool settings	23	delete_toolsettings
93	Can view tool settings	23	view_toolsettings
94	Can manage people, keys, webhooks, rules and tools	23	administer
95	Can add preferences	24	add_preferences
96	Can change preferences	24	change_preferences
97	Can delete preferences	24	delete_preferences
98	Can view preferences	24	view_preferences
99	Can add saved view	25	add_savedview
100	Can change saved view	25	change_savedview
101	Can delete saved view	25	delete_savedview
102	Can view saved view	25	view_savedview
103	Can add snooze	26	add_snooze
104	Can change snooze	26	change_snooze
105	Can delete snooze	26	delete_snooze
106	Can view snooze	26	view_snooze
107	Can add person session	27	add_personsession
108	Can change person session	27	change_personsession
109	Can delete person session	27	delete_personsession
110	Can view person session	27	view_personsession
111	Can add role	28	add_role
112	Can change role	28	change_role
113	Can delete role	28	delete_role
114	Can view role	28	view_role
115	Can add push subscription	29	add_pushsubscription
116	Can change push subscription	29	change_pushsubscription
117	Can delete push subscription	29	delete_pushsubscription
118	Can view push subscription	29	view_pushsubscription
119	Can add invitation	30	add_invitation
120	Can change invitation	30	change_invitation
121	Can delete invitation	30	delete_invitation
122	Can view invitation	30	view_invitation
123	Can add priority settings	31	add_prioritysettings
124	Can change priority settings	31	change_prioritysettings
125	Can delete priority settings	31	delete_prioritysettings
126	Can view priority settings	31	view_prioritysettings
127	Can add resume state	32	add_resumestate
128	Can change resume state	32	change_resumestate
129	Can delete resume state	32	delete_resumestate
130	Can view resume state	32	view_resumestate
131	Can add resumption	33	add_resumption
132	Can change resumption	33	change_resumption
133	Can delete resumption	33	delete_resumption
134	Can view resumption	33	view_resumption
135	Can add pending change	34	add_pendingchange
136	Can change pending change	34	change_pendingchange
137	Can delete pending change	34	delete_pendingchange
138	Can view pending change	34	view_pendingchange
139	Can add step	35	add_step
140	Can change step	35	change_step
141	Can delete step	35	delete_step
142	Can view step	35	view_step
143	Can add chat	36	add_chat
144	Can change chat	36	change_chat
145	Can delete chat	36	delete_chat
146	Can view chat	36	view_chat
147	Can add message	37	add_message
148	Can change message	37	change_message
149	Can delete message	37	delete_message
150	Can view message	37	view_message
151	Can add tool call	38	add_toolcall
152	Can change tool call	38	change_toolcall
153	Can delete tool call	38	delete_toolcall
154	Can view tool call	38	view_toolcall
155	Can add turn	39	add_turn
156	Can change turn	39	change_turn
157	Can delete turn	39	delete_turn
158	Can view turn	39	view_turn
159	Can add turn checkpoint	40	add_turncheckpoint
160	Can change turn checkpoint	40	change_turncheckpoint
161	Can delete turn checkpoint	40	delete_turncheckpoint
162	Can view turn checkpoint	40	view_turncheckpoint
163	Can add turn event	41	add_turnevent
164	Can change turn event	41	change_turnevent
165	Can delete turn event	41	delete_turnevent
166	Can view turn event	41	view_turnevent
167	Can add model price	42	add_modelprice
168	Can change model price	42	change_modelprice
169	Can delete model price	42	delete_modelprice
170	Can view model price	42	view_modelprice
171	Can add attachment	43	add_attachment
172	Can change attachment	43	change_attachment
173	Can delete attachment	43	delete_attachment
174	Can view attachment	43	view_attachment
175	Can add procrastinate event	44	add_procrastinateevent
176	Can change procrastinate event	44	change_procrastinateevent
177	Can delete procrastinate event	44	delete_procrastinateevent
178	Can view procrastinate event	44	view_procrastinateevent
179	Can add procrastinate job	45	add_procrastinatejob
180	Can change procrastinate job	45	change_procrastinatejob
181	Can delete procrastinate job	45	delete_procrastinatejob
182	Can view procrastinate job	45	view_procrastinatejob
183	Can add procrastinate periodic defer	46	add_procrastinateperiodicdefer
184	Can change procrastinate periodic defer	46	change_procrastinateperiodicdefer
185	Can delete procrastinate periodic defer	46	delete_procrastinateperiodicdefer
186	Can view procrastinate periodic defer	46	view_procrastinateperiodicdefer
187	Can add procrastinate worker	47	add_procrastinateworker
188	Can change procrastinate worker	47	change_procrastinateworker
189	Can delete procrastinate worker	47	delete_procrastinateworker
190	Can view procrastinate worker	47	view_procrastinateworker
\.
COPY public.auth_user (id, password, last_login, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined) FROM stdin;
3	pbkdf2_sha256$1000000$DZnkFFmBBvK59NaBnuN5vM$CBUFwUkunVetgwSJkt7d9C9wWumLXole15KhyQiP710=	\N	f	auditor				t	t	2026-11-24 12:33:27.406642+00
4	pbkdf2_sha256$1000000$1XUa1P7oR9dmhM4tWbAwMd$DZTBE8pGu/VYhPChmZvD5aiUDiXmmjSp/jTwKFk34NA=	\N	t	admin				t	t	2026-11-24 12:33:28.273994+00
1	pbkdf2_sha256$1000000$AwCHM4LCdf1PxKd5x7J4Cl$Vf1v2RCahNnzSeNbX7YymBvJM7zL5gvNIUiDSjjHBGw=	2026-11-24 12:33:39.427161+00	f	requester				f	t	2026-11-24 12:33:25.359657+00
2	pbkdf2_sha256$1000000$wh0fzNiI0WlGIR3DGxIfqj$jRkTA9g++Y/TiYpUeVSnv9tqcmHJtrb1olJNt8563gw=	2026-11-24 12:33:41.543475+00	f	approver				f	t	2026-11-24 12:33:26.403977+00
\.
COPY public.auth_user_groups (id, user_id, group_id) FROM stdin;
1	1	1
2	2	2
3	3	3
4	4	4
\.
COPY public.auth_user_user_permissions (id, user_id, permission_id) FROM stdin;
\.
COPY public.chats_attachment (id, file_id, media_type, name, size, digest, content, created_at, chat_id) FROM stdin;
\.
COPY public.chats_chat (id, public_id, agent, title, created_at, updated_at, owner_id, root_id, pruned_at, branch_token, branched_at, branched_from_id) FROM stdin;
1	af70f140fcfe4ca8b19dbd68df50c7a5	support	Please refund order 4712, 260 euros	2026-11-24 12:33:41.718182+00	2026-11-24 12:33:46.300378+00	1	\N	\N	\N	\N	\N
2	572c17dd8b5a466880a71d07529f85bd	support	Please refund order 4711, 250 euros	2026-11-24 12:33:46.397008+00	2026-11-24 12:33:46.419778+00	1	\N	\N	\N	\N	\N
3	50d8a8a3dff447279a4aa82d04375fa6	support	ask me something	2026-11-24 12:33:46.655051+00	2026-11-24 12:33:46.681078+00	1	\N	\N	\N	\N	\N
\.
COPY public.chats_message (id, message_id, role, parts, "position", created_at, chat_id, cut_at, metadata) FROM stdin;
1	b4efa8f45ce74628a29f1f6bfb5b4fc6	user	[{"type": "text", "text": "Please refund order 4712, 260 euros"}]	0	2026-11-24 12:33:41.783215+00	1	\N	\N
2	5022dd4dc5de4732965c1d549049b216	assistant	[{"type": "step-start"}, {"type": "text", "text": "Let me refund order 4712.", "state": "done"}, {"type": "tool-issueRefund", "toolCallId": "call_ad508656a54e461c8f4ac012", "input": {"amount": 260, "orderId": "4712"}, "state": "output-available", "output": {"orderId": "4712", "amount": 260.0, "status": "refunded", "executions": 1}, "approval": {"id": "22d5ec3c-9a1c-4e86-979e-58cec302530e", "approved": true}}, {"type": "step-start"}, {"type": "text", "text": "That is what happened with order 4712: orderId 4712, amount 260.0, status refunded, executions 1", "state": "done"}]	1	2026-11-24 12:33:45.271484+00	1	\N	{"model": "scripted", "usage": {"inputTokens": 17, "outputTokens": 37, "cachedInputTokens": 0, "reasoningTokens": 0}, "createdAt": "2026-11-24T12:33:41.795507Z", "finishedAt": "2026-11-24T12:33:46.291910Z"}
3	56c7f6bff1c1495c996791e97c7d2b7b	user	[{"type": "text", "text": "Please refund order 4711, 250 euros"}]	0	2026-11-24 12:33:46.410287+00	2	\N	\N
4	dba1ee70f290453cb7fa26dccee002f9	assistant	[]	1	2026-11-24 12:33:46.536729+00	2	\N	\N
5	bde077efd52e4b82b62c59975cfce301	user	[{"type": "text", "text": "ask me something"}]	0	2026-11-24 12:33:46.670463+00	3	\N	\N
6	42f041a2556746eca29085575a1c6521	assistant	[]	1	2026-11-24 12:33:46.845269+00	3	\N	\N
\.
COPY public.chats_modelprice (id, prefix, valid_from, above, currency, input, cache_write, cache_read, output, service_tier, cache_write_hour, searches) FROM stdin;
1	claude-fable-5	2025-01-01	0	USD	10.0000	12.5000	1.0000	50.0000		20.0000	10.0000
2	claude-fable-5-1	2025-01-01	0	USD	10.0000	12.5000	0.2500	50.0000		20.0000	10.0000
3	claude-mythos-5	2025-01-01	0	USD	10.0000	12.5000	1.0000	50.0000		20.0000	10.0000
4	claude-mythos-5-1	2025-01-01	0	USD	10.0000	12.5000	0.2500	50.0000		20.0000	10.0000
5	claude-opus-5-5	2025-01-01	0	USD	4.0000	5.0000	0.2000	20.0000		8.0000	10.0000
6	claude-opus-5	2025-01-01	0	USD	5.0000	6.2500	0.5000	25.0000		10.0000	10.0000
7	claude-opus-4-8	2025-01-01	0	USD	5.0000	6.2500	0.5000	25.0000		10.0000	10.0000
8	claude-opus-4-7	2025-01-01	0	USD	5.0000	6.2500	0.5000	25.0000		10.0000	10.0000
9	claude-opus-4-6	2025-01-01	0	USD	5.0000	6.2500	0.5000	25.0000		10.0000	10.0000
10	claude-opus-4-5	2025-01-01	0	USD	5.0000	6.2500	0.5000	25.0000		10.0000	10.0000
11	claude-opus-4	2025-01-01	0	USD	15.0000	18.7500	1.5000	75.0000		30.0000	10.0000
12	claude-sonnet-5-5	2025-01-01	0	USD	2.0000	2.5000	0.2000	10.0000		4.0000	10.0000
13	claude-sonnet-5-5	2026-10-07	0	USD	2.0000	2.5000	0.1000	10.0000		4.0000	10.0000
14	claude-sonnet-5	2025-01-01	0	USD	2.0000	2.5000	0.2000	10.0000		4.0000	10.0000
15	claude-sonnet-4	2025-01-01	0	USD	3.0000	3.7500	0.3000	15.0000		6.0000	10.0000
16	claude-haiku-5-5	2025-01-01	0	USD	0.1000	0.1250	0.0100	0.5000		0.2000	10.0000
17	claude-haiku-5-5	2025-01-01	100000	USD	0.5000	0.6250	0.0500	2.5000		1.0000	10.0000
18	claude-haiku-4-5	2025-01-01	0	USD	1.0000	1.2500	0.1000	5.0000		2.0000	10.0000
\.
COPY public.chats_step (id, index, blocks, provider, model, stop_reason, usage, created_at, turn_id, prefix, stop_details, answered_by) FROM stdin;
1	0	[{"type": "text", "text": "Let me refund order 4712."}, {"type": "tool_use", "id": "call_ad508656a54e461c8f4ac012", "name": "issueRefund", "input": {"amount": 260, "orderId": "4712"}}]	scripted	scripted	tool_use	{"input_tokens": 6, "output_tokens": 19}	2026-11-24 12:33:45.168271+00	1		{}	{}
2	1	[{"type": "text", "text": "That is what happened with order 4712: orderId 4712, amount 260.0, status refunded, executions 1"}]	scripted	scripted	end_turn	{"input_tokens": 11, "output_tokens": 18}	2026-11-24 12:33:46.265595+00	1		{}	{}
3	0	[{"type": "text", "text": "Let me refund order 4711."}, {"type": "tool_use", "id": "call_c1f58a704b0e40c4a36ccb85", "name": "issueRefund", "input": {"amount": 250, "orderId": "4711"}}]	scripted	scripted	tool_use	{"input_tokens": 6, "output_tokens": 19}	2026-11-24 12:33:46.511149+00	2		{}	{}
4	0	[{"type": "text", "text": "I need to know one thing before I go on."}, {"type": "tool_use", "id": "call_2941fa8e45f44b5592cce49c", "name": "askUser", "input": {"question": "Which delivery do you prefer?", "options": [{"id": "standard", "label": "Standard", "description": "3 to 5 days, free"}, {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"}], "multiSelect": false, "fieldName": "delivery"}}]	scripted	scripted	tool_use	{"input_tokens": 3, "output_tokens": 49}	2026-11-24 12:33:46.830849+00	3		{}	{}
\.
COPY public.chats_toolcall (id, tool_call_id, name, input, state, attempt, output, error_text, executed_digest, started_at, finished_at, approval_id, chat_id, recovery_id, step_id, turn_id) FROM stdin;
1	call_ad508656a54e461c8f4ac012	issueRefund	{"amount": 260, "orderId": "4712"}	succeeded	1	{"orderId": "4712", "amount": 260.0, "status": "refunded", "executions": 1}		sha256:d2ce184d36e03c0a55983d65f786f490390f93508b9ca632acff7b623960d43e	2026-11-24 12:33:46.029198+00	2026-11-24 12:33:46.038366+00	22d5ec3c-9a1c-4e86-979e-58cec302530e	1	\N	1	1
2	call_c1f58a704b0e40c4a36ccb85	issueRefund	{"amount": 250, "orderId": "4711"}	waiting	0	\N			\N	\N	468e627c-cdff-4ae2-a2ac-00b3866ed445	2	\N	3	2
3	call_2941fa8e45f44b5592cce49c	askUser	{"question": "Which delivery do you prefer?", "options": [{"id": "standard", "label": "Standard", "description": "3 to 5 days, free"}, {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"}], "multiSelect": false, "fieldName": "delivery"}	waiting	0	\N			\N	\N	3cd91c95-3076-4160-b7af-fa8b91ab4dca	3	\N	4	3
\.
COPY public.chats_turn (id, run_id, message_id, agent, agent_version, state, finish_reason, stopped, stopped_by, attempt, lease_owner, lease_until, usage, error, depth, created_at, ended_at, chat_id, parent_call_id, root_id, source, events_pruned, version) FROM stdin;
1	fbe3c679-e9e1-4d58-8734-411d35779c0c	5022dd4dc5de4732965c1d549049b216	support	1	completed	stop	f		2	vm:4026531836:22228:1356784	\N	{"input_tokens": 17, "output_tokens": 37}		0	2026-11-24 12:33:41.795507+00	2026-11-24 12:33:46.300378+00	1	\N	\N	chat	f	6
2	fb01d67b-5810-4e01-8c5c-f791d3e4e8ac	dba1ee70f290453cb7fa26dccee002f9	support	1	suspended	tool-calls	f		1	vm:4026531836:22228:1356784	\N	{"input_tokens": 6, "output_tokens": 19}		0	2026-11-24 12:33:46.415308+00	\N	2	\N	\N	chat	f	2
3	5c01a96a-9328-4cae-9382-a5b8cc5c6f64	42f041a2556746eca29085575a1c6521	support	1	suspended	tool-calls	f		1	vm:4026531836:22228:1356784	\N	{"input_tokens": 3, "output_tokens": 49}		0	2026-11-24 12:33:46.679769+00	\N	3	\N	\N	chat	f	2
\.
COPY public.chats_turncheckpoint (id, chat_pk, turn_pk, run_id, message_id, ordinal, kind, finish_reason, stopped, error, kept, tail, digest, created_at) FROM stdin;
1	1	1	fbe3c679-e9e1-4d58-8734-411d35779c0c	5022dd4dc5de4732965c1d549049b216	0	partial	tool-calls	f		0	[{"type": "step-start"}, {"type": "text", "text": "Let me refund order 4712.", "state": "done"}, {"type": "tool-issueRefund", "toolCallId": "call_ad508656a54e461c8f4ac012", "input": {"amount": 260, "orderId": "4712"}, "state": "approval-requested", "approval": {"id": "22d5ec3c-9a1c-4e86-979e-58cec302530e"}}]	sha256:516dbcae16f1836950ceacd169fa9ea89677fe5728f9ad43bf427010bb404c63	2026-11-24 12:33:45.287947+00
2	1	1	fbe3c679-e9e1-4d58-8734-411d35779c0c	5022dd4dc5de4732965c1d549049b216	1	final	stop	f		2	[{"type": "tool-issueRefund", "toolCallId": "call_ad508656a54e461c8f4ac012", "input": {"amount": 260, "orderId": "4712"}, "state": "output-available", "output": {"orderId": "4712", "amount": 260.0, "status": "refunded", "executions": 1}, "approval": {"id": "22d5ec3c-9a1c-4e86-979e-58cec302530e", "approved": true}}, {"type": "step-start"}, {"type": "text", "text": "That is what happened with order 4712: orderId 4712, amount 260.0, status refunded, executions 1", "state": "done"}]	sha256:bc5b09b6e8df285612246582bf6580bfcf10da8b18ff4f0becbf8988c662603e	2026-11-24 12:33:46.323901+00
3	2	2	fb01d67b-5810-4e01-8c5c-f791d3e4e8ac	dba1ee70f290453cb7fa26dccee002f9	0	partial	tool-calls	f		0	[{"type": "step-start"}, {"type": "text", "text": "Let me refund order 4711.", "state": "done"}, {"type": "tool-issueRefund", "toolCallId": "call_c1f58a704b0e40c4a36ccb85", "input": {"amount": 250, "orderId": "4711"}, "state": "approval-requested", "approval": {"id": "468e627c-cdff-4ae2-a2ac-00b3866ed445"}}]	sha256:85ececa0ac19c4a40d689a6646ec15bd89c8a9fe91a82f783e676ed56c318594	2026-11-24 12:33:46.538975+00
4	3	3	5c01a96a-9328-4cae-9382-a5b8cc5c6f64	42f041a2556746eca29085575a1c6521	0	partial	tool-calls	f		0	[{"type": "step-start"}, {"type": "text", "text": "I need to know one thing before I go on.", "state": "done"}, {"type": "tool-askUser", "toolCallId": "call_2941fa8e45f44b5592cce49c", "input": {"question": "Which delivery do you prefer?", "options": [{"id": "standard", "label": "Standard", "description": "3 to 5 days, free"}, {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"}], "multiSelect": false, "fieldName": "delivery"}, "state": "input-available"}]	sha256:011e8c1aaa9de4ddce6916c6c868906a7e18eac74918ac2a1a4e0cc5e2066828	2026-11-24 12:33:46.85408+00
\.
COPY public.chats_turnevent (id, seq, attempt, step, chunk, turn_id) FROM stdin;
1	1	1	0	{"event": "StepStarted", "index": 0}	1
2	2	1	0	{"event": "TextStarted", "id": "text-0"}	1
3	7	1	0	{"event": "TextDelta", "id": "text-0", "text": "Let me refund order 4712.", "ends": [4, 7, 14, 20, 25]}	1
4	8	1	0	{"event": "TextEnded", "id": "text-0"}	1
5	9	1	0	{"event": "ToolInputStarted", "tool_call_id": "call_ad508656a54e461c8f4ac012", "tool_name": "issueRefund"}	1
6	11	1	0	{"event": "ToolInputDelta", "tool_call_id": "call_ad508656a54e461c8f4ac012", "text": "{\\"amount\\": 260, \\"orderId\\": \\"4712\\"}", "ends": [17, 34]}	1
7	12	1	0	{"event": "ToolInputReady", "tool_call_id": "call_ad508656a54e461c8f4ac012", "tool_name": "issueRefund", "input": {"amount": 260, "orderId": "4712"}}	1
8	13	1	0	{"event": "ApprovalRequested", "tool_call_id": "call_ad508656a54e461c8f4ac012", "request_id": "22d5ec3c-9a1c-4e86-979e-58cec302530e"}	1
9	14	1	0	{"event": "StepEnded", "index": 0}	1
10	15	1	0	{"event": "TurnPaused"}	1
11	16	2	0	{"event": "ToolSucceeded", "tool_call_id": "call_ad508656a54e461c8f4ac012", "output": {"orderId": "4712", "amount": 260.0, "status": "refunded", "executions": 1}}	1
12	17	2	1	{"event": "StepStarted", "index": 1}	1
13	18	2	1	{"event": "TextStarted", "id": "text-0"}	1
14	33	2	1	{"event": "TextDelta", "id": "text-0", "text": "That is what happened with order 4712: orderId 4712, amount 260.0, status refunded, executions 1", "ends": [5, 8, 13, 22, 27, 33, 39, 47, 53, 60, 67, 74, 84, 95, 96]}	1
15	34	2	1	{"event": "TextEnded", "id": "text-0"}	1
16	35	2	1	{"event": "StepEnded", "index": 1}	1
17	36	2	1	{"event": "TurnEnded", "finish_reason": "stop", "stopped": false, "metadata": {"model": "scripted", "usage": {"inputTokens": 17, "outputTokens": 37, "cachedInputTokens": 0, "reasoningTokens": 0}, "createdAt": "2026-11-24T12:33:41.795507Z", "finishedAt": "2026-11-24T12:33:46.291910Z"}}	1
18	1	1	0	{"event": "StepStarted", "index": 0}	2
19	2	1	0	{"event": "TextStarted", "id": "text-0"}	2
20	7	1	0	{"event": "TextDelta", "id": "text-0", "text": "Let me refund order 4711.", "ends": [4, 7, 14, 20, 25]}	2
21	8	1	0	{"event": "TextEnded", "id": "text-0"}	2
22	9	1	0	{"event": "ToolInputStarted", "tool_call_id": "call_c1f58a704b0e40c4a36ccb85", "tool_name": "issueRefund"}	2
23	11	1	0	{"event": "ToolInputDelta", "tool_call_id": "call_c1f58a704b0e40c4a36ccb85", "text": "{\\"amount\\": 250, \\"orderId\\": \\"4711\\"}", "ends": [17, 34]}	2
24	12	1	0	{"event": "ToolInputReady", "tool_call_id": "call_c1f58a704b0e40c4a36ccb85", "tool_name": "issueRefund", "input": {"amount": 250, "orderId": "4711"}}	2
25	13	1	0	{"event": "ApprovalRequested", "tool_call_id": "call_c1f58a704b0e40c4a36ccb85", "request_id": "468e627c-cdff-4ae2-a2ac-00b3866ed445"}	2
26	14	1	0	{"event": "StepEnded", "index": 0}	2
27	15	1	0	{"event": "TurnPaused"}	2
28	1	1	0	{"event": "StepStarted", "index": 0}	3
29	2	1	0	{"event": "TextStarted", "id": "text-0"}	3
30	12	1	0	{"event": "TextDelta", "id": "text-0", "text": "I need to know one thing before I go on.", "ends": [2, 7, 10, 15, 19, 25, 32, 34, 37, 40]}	3
31	13	1	0	{"event": "TextEnded", "id": "text-0"}	3
32	14	1	0	{"event": "ToolInputStarted", "tool_call_id": "call_2941fa8e45f44b5592cce49c", "tool_name": "askUser"}	3
33	16	1	0	{"event": "ToolInputDelta", "tool_call_id": "call_2941fa8e45f44b5592cce49c", "text": "{\\"question\\": \\"Which delivery do you prefer?\\", \\"options\\": [{\\"id\\": \\"standard\\", \\"label\\": \\"Standard\\", \\"description\\": \\"3 to 5 days, free\\"}, {\\"id\\": \\"express\\", \\"label\\": \\"Express\\", \\"description\\": \\"Tomorrow, 9 euros\\"}], \\"multiSelect\\": false, \\"fieldName\\": \\"delivery\\"}", "ends": [128, 257]}	3
34	17	1	0	{"event": "ToolInputReady", "tool_call_id": "call_2941fa8e45f44b5592cce49c", "tool_name": "askUser", "input": {"question": "Which delivery do you prefer?", "options": [{"id": "standard", "label": "Standard", "description": "3 to 5 days, free"}, {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"}], "multiSelect": false, "fieldName": "delivery"}}	3
35	18	1	0	{"event": "StepEnded", "index": 0}	3
36	19	1	0	{"event": "TurnPaused"}	3
\.
COPY public.django_admin_log (id, action_time, object_id, object_repr, action_flag, change_message, content_type_id, user_id) FROM stdin;
\.
COPY public.django_content_type (id, app_label, model) FROM stdin;
1	admin	logentry
2	auth	permission
3	auth	group
4	auth	user
5	contenttypes	contenttype
6	sessions	session
7	account	emailaddress
8	account	emailconfirmation
9	approvals	apikey
10	approvals	approvalrequest
11	approvals	auditentry
12	approvals	decision
13	approvals	workflow
14	approvals	outboxevent
15	approvals	eventstream
16	approvals	lastnotice
17	approvals	notificationrule
18	approvals	signingsecret
19	approvals	webhookendpoint
20	approvals	worker
21	approvals	searchtext
22	approvals	requestcomment
23	approvals	toolsettings
24	approvals	preferences
25	approvals	savedview
26	approvals	snooze
27	approvals	personsession
28	approvals	role
29	approvals	pushsubscription
30	approvals	invitation
31	approvals	prioritysettings
32	approvals	resumestate
33	approvals	resumption
34	approvals	pendingchange
35	chats	step
36	chats	chat
37	chats	message
38	chats	toolcall
39	chats	turn
40	chats	turncheckpoint
41	chats	turnevent
42	chats	modelprice
43	chats	attachment
44	procrastinate	procrastinateevent
45	procrastinate	procrastinatejob
46	procrastinate	procrastinateperiodicdefer
47	procrastinate	procrastinateworker
\.
COPY public.django_migrations (id, app, name, applied) FROM stdin;
1	contenttypes	0001_initial	2026-11-24 12:33:03.864341+00
2	auth	0001_initial	2026-11-24 12:33:04.079012+00
3	account	0001_initial	2026-11-24 12:33:04.130259+00
4	account	0002_email_max_length	2026-11-24 12:33:04.152037+00
5	account	0003_alter_emailaddress_create_unique_verified_email	2026-11-24 12:33:04.183197+00
6	account	0004_alter_emailaddress_drop_unique_email	2026-11-24 12:33:04.275181+00
7	account	0005_emailaddress_idx_upper_email	2026-11-24 12:33:04.333693+00
8	account	0006_emailaddress_lower	2026-11-24 12:33:04.357723+00
9	account	0007_emailaddress_idx_email	2026-11-24 12:33:04.396787+00
10	account	0008_emailaddress_unique_primary_email_fixup	2026-11-24 12:33:04.458497+00
11	account	0009_emailaddress_unique_primary_email	2026-11-24 12:33:04.492186+00
12	admin	0001_initial	2026-11-24 12:33:04.611531+00
13	admin	0002_logentry_remove_auto_add	2026-11-24 12:33:04.633499+00
14	admin	0003_logentry_add_action_flag_choices	2026-11-24 12:33:04.654415+00
15	contenttypes	0002_remove_content_type_name	2026-11-24 12:33:04.704513+00
16	auth	0002_alter_permission_name_max_length	2026-11-24 12:33:04.735168+00
17	auth	0003_alter_user_email_max_length	2026-11-24 12:33:04.764307+00
18	auth	0004_alter_user_username_opts	2026-11-24 12:33:04.781251+00
19	auth	0005_alter_user_last_login_null	2026-11-24 12:33:04.821179+00
20	auth	0006_require_contenttypes_0002	2026-11-24 12:33:04.821998+00
21	auth	0007_alter_validators_add_error_messages	2026-11-24 12:33:04.84045+00
22	auth	0008_alter_user_username_max_length	2026-11-24 12:33:04.863984+00
23	auth	0009_alter_user_last_name_max_length	2026-11-24 12:33:04.884121+00
24	auth	0010_alter_group_name_max_length	2026-11-24 12:33:04.904201+00
25	auth	0011_update_proxy_permissions	2026-11-24 12:33:04.913318+00
26	auth	0012_alter_user_first_name_max_length	2026-11-24 12:33:04.946066+00
27	sessions	0001_initial	2026-11-24 12:33:04.957771+00
28	approvals	0001_desk	2026-11-24 12:33:05.882999+00
29	approvals	0002_outbox	2026-11-24 12:33:05.906373+00
30	approvals	0003_api	2026-11-24 12:33:06.095181+00
31	approvals	0004_webhooks	2026-11-24 12:33:06.411397+00
32	approvals	0005_requests_by_age	2026-11-24 12:33:06.451163+00
33	approvals	0006_exact_json	2026-11-24 12:33:06.885789+00
34	approvals	0007_open_after	2026-11-24 12:33:06.9147+00
35	approvals	0008_workers	2026-11-24 12:33:06.933787+00
36	approvals	0009_triage	2026-11-24 12:33:07.675622+00
37	approvals	0010_triage_rows	2026-11-24 12:33:07.775954+00
38	approvals	0011_people	2026-11-24 12:33:08.359201+00
39	approvals	0012_said_before	2026-11-24 12:33:08.471317+00
40	approvals	0013_workflows_by_name	2026-11-24 12:33:08.559366+00
41	approvals	0014_one_list_each	2026-11-24 12:33:08.855368+00
42	approvals	0015_words_of_questions	2026-11-24 12:33:08.903625+00
43	approvals	0016_names_of_keys	2026-11-24 12:33:09.019322+00
44	approvals	0017_plain_labels	2026-11-24 12:33:09.268069+00
45	approvals	0018_api_key_labels	2026-11-24 12:33:09.314308+00
46	approvals	0019_fewer_index_entries	2026-11-24 12:33:12.229692+00
47	approvals	0020_search_without_column	2026-11-24 12:33:12.325592+00
48	approvals	0021_preferences_and_views	2026-11-24 12:33:12.948725+00
49	approvals	0022_administration	2026-11-24 12:33:13.947395+00
50	approvals	0023_known_sessions	2026-11-24 12:33:14.012089+00
51	approvals	0024_push_subscriptions	2026-11-24 12:33:14.116814+00
52	approvals	0025_audit_page	2026-11-24 12:33:14.399305+00
53	approvals	0026_settings_of_people_and_priorities	2026-11-24 12:33:14.661953+00
54	approvals	0027_language_of_a_person	2026-11-24 12:33:14.705051+00
55	approvals	0028_amounts	2026-11-24 12:33:14.776768+00
56	approvals	0029_amounts_of_old_entries	2026-11-24 12:33:15.011632+00
57	approvals	0030_resuming	2026-11-24 12:33:15.223244+00
58	approvals	0031_tool_lists	2026-11-24 12:33:15.319856+00
59	approvals	0032_takers	2026-11-24 12:33:15.57559+00
60	approvals	0033_pending_changes	2026-11-24 12:33:16.286969+00
61	chats	0001_chats	2026-11-24 12:33:18.451712+00
62	chats	0002_cut_messages	2026-11-24 12:33:18.581156+00
63	chats	0003_nested_turns	2026-11-24 12:33:18.923542+00
64	chats	0004_turn_source	2026-11-24 12:33:18.967244+00
65	chats	0005_exact_json	2026-11-24 12:33:19.75935+00
66	chats	0006_pruned	2026-11-24 12:33:19.911299+00
67	chats	0007_branches	2026-11-24 12:33:20.314841+00
68	chats	0008_names_of_keys	2026-11-24 12:33:20.352941+00
69	chats	0009_fewer_indexes	2026-11-24 12:33:21.810024+00
70	chats	0010_unstored_parts	2026-11-24 12:33:21.92634+00
71	chats	0011_step_prefix_and_details	2026-11-24 12:33:21.962763+00
72	chats	0012_model_prices	2026-11-24 12:33:22.100205+00
73	chats	0013_attachments	2026-11-24 12:33:22.569185+00
74	chats	0014_who_answered	2026-11-24 12:33:22.72304+00
75	chats	0015_message_metadata	2026-11-24 12:33:22.767502+00
76	chats	0016_turn_version	2026-11-24 12:33:22.823232+00
77	procrastinate	0001_initial	2026-11-24 12:33:22.905702+00
78	procrastinate	0002_drop_started_at_column	2026-11-24 12:33:22.92372+00
79	procrastinate	0003_drop_started_at_column	2026-11-24 12:33:22.927744+00
80	procrastinate	0004_drop_procrastinate_version_table	2026-11-24 12:33:22.929659+00
81	procrastinate	0005_fix_procrastinate_fetch_job	2026-11-24 12:33:22.942473+00
82	procrastinate	0006_fix_trigger_status_events_insert	2026-11-24 12:33:22.954476+00
83	procrastinate	0007_add_queueing_lock_column	2026-11-24 12:33:22.968539+00
84	procrastinate	0008_close_fetch_job_race_condition	2026-11-24 12:33:22.995268+00
85	procrastinate	0009_add_defer_job_function	2026-11-24 12:33:23.008358+00
86	procrastinate	0010_add_procrastinate_periodic_defers	2026-11-24 12:33:23.058656+00
87	procrastinate	0011_add_foreign_key_index	2026-11-24 12:33:23.072829+00
88	procrastinate	0012_add_locks_to_periodic_defer	2026-11-24 12:33:23.090058+00
89	procrastinate	0013_fix_procrastinate_defer_periodic_job	2026-11-24 12:33:23.099712+00
90	procrastinate	0014_add_finish_job_and_retry_job_functions	2026-11-24 12:33:23.103126+00
91	procrastinate	0015_add_trigger_on_job_deletion	2026-11-24 12:33:23.104945+00
92	procrastinate	0016_delete_finished_jobs	2026-11-24 12:33:23.106312+00
93	procrastinate	0017_add_checks_to_finish_job	2026-11-24 12:33:23.118825+00
94	procrastinate	0018_add_checks_to_retry_job	2026-11-24 12:33:23.133572+00
95	procrastinate	0019_fix_finish_job_compat_issue	2026-11-24 12:33:23.139784+00
96	procrastinate	0020_add_index_on_procrastinate_jobs	2026-11-24 12:33:23.144645+00
97	procrastinate	0021_add_kwargs_to_defer_periodic_job	2026-11-24 12:33:23.167387+00
98	procrastinate	0022_null_locks_excluded	2026-11-24 12:33:23.219191+00
99	procrastinate	0023_remove_old_finish_job_function	2026-11-24 12:33:23.228417+00
100	procrastinate	0024_job_id_bigint	2026-11-24 12:33:23.237264+00
101	procrastinate	0025_add_models	2026-11-24 12:33:23.266556+00
102	procrastinate	0026_add_job_priority	2026-11-24 12:33:23.42951+00
103	procrastinate	0027_add_periodic_job_priority	2026-11-24 12:33:23.598948+00
104	procrastinate	0028_add_cancel_states	2026-11-24 12:33:23.693287+00
105	procrastinate	0029_add_additional_params_to_retry_job	2026-11-24 12:33:23.701928+00
106	procrastinate	0030_alter_procrastinateevent_options	2026-11-24 12:33:23.704425+00
107	procrastinate	0031_add_indexes_for_fetch_job	2026-11-24 12:33:23.709625+00
108	procrastinate	0032_pre_cancel_notification	2026-11-24 12:33:23.905254+00
109	procrastinate	0033_post_cancel_notification	2026-11-24 12:33:24.009699+00
110	procrastinate	0034_pre_add_heartbeat	2026-11-24 12:33:24.093369+00
111	procrastinate	0035_post_add_heartbeat	2026-11-24 12:33:24.122649+00
112	procrastinate	0036_add_worker_model	2026-11-24 12:33:24.144425+00
113	procrastinate	0037_pre_batch_defer_jobs	2026-11-24 12:33:24.17778+00
114	procrastinate	0038_post_batch_defer_jobs	2026-11-24 12:33:24.185368+00
115	procrastinate	0039_pre_priority_lock_fetch_job	2026-11-24 12:33:24.187566+00
116	procrastinate	0040_pre_retry_failed_job	2026-11-24 12:33:24.189467+00
117	procrastinate	0041_post_retry_failed_job	2026-11-24 12:33:24.191066+00
\.
COPY public.django_session (session_key, session_data, expire_date) FROM stdin;
\.
COPY public.pausepoint_maintenance (reason) FROM stdin;
\.
COPY public.procrastinate_events (id, job_id, type, at) FROM stdin;
\.
COPY public.procrastinate_jobs (id, queue_name, task_name, lock, args, status, scheduled_at, attempts, queueing_lock, priority, abort_requested, worker_id) FROM stdin;
\.
COPY public.procrastinate_periodic_defers (id, task_name, defer_timestamp, job_id, periodic_id) FROM stdin;
\.
COPY public.procrastinate_workers (id, last_heartbeat) FROM stdin;
\.
SELECT pg_catalog.setval('public.account_emailaddress_id_seq', 1, false);
SELECT pg_catalog.setval('public.account_emailconfirmation_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_apikey_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_auditentry_id_seq', 7, true);
SELECT pg_catalog.setval('public.approvals_decision_id_seq', 1, true);
SELECT pg_catalog.setval('public.approvals_eventstream_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_lastnotice_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_notificationrule_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_outboxevent_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_pendingchange_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_personsession_id_seq', 2, true);
SELECT pg_catalog.setval('public.approvals_pushsubscription_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_requestcomment_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_role_id_seq', 4, true);
SELECT pg_catalog.setval('public.approvals_savedview_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_searchtext_id_seq', 3, true);
SELECT pg_catalog.setval('public.approvals_signingsecret_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_snooze_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_toolsettings_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_webhookendpoint_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_worker_id_seq', 3, true);
SELECT pg_catalog.setval('public.approvals_workflow_id_seq', 3, true);
SELECT pg_catalog.setval('public.auth_group_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 7, true);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 190, true);
SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_user_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.chats_attachment_id_seq', 1, false);
SELECT pg_catalog.setval('public.chats_chat_id_seq', 3, true);
SELECT pg_catalog.setval('public.chats_message_id_seq', 6, true);
SELECT pg_catalog.setval('public.chats_modelprice_id_seq', 18, true);
SELECT pg_catalog.setval('public.chats_step_id_seq', 4, true);
SELECT pg_catalog.setval('public.chats_toolcall_id_seq', 3, true);
SELECT pg_catalog.setval('public.chats_turn_id_seq', 3, true);
SELECT pg_catalog.setval('public.chats_turncheckpoint_id_seq', 4, true);
SELECT pg_catalog.setval('public.chats_turnevent_id_seq', 36, true);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 47, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 117, true);
SELECT pg_catalog.setval('public.procrastinate_events_id_seq', 8, true);
SELECT pg_catalog.setval('public.procrastinate_jobs_id_seq', 4, true);
SELECT pg_catalog.setval('public.procrastinate_periodic_defers_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_workers_id_seq', 1, true);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_email_987c8728_uniq UNIQUE (user_id, email);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_key_key UNIQUE (key);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_apikey
    ADD CONSTRAINT approvals_apikey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_apikey
    ADD CONSTRAINT approvals_apikey_prefix_key UNIQUE (prefix);
ALTER TABLE ONLY public.approvals_approvalrequest
    ADD CONSTRAINT approvals_approvalrequest_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_auditentry
    ADD CONSTRAINT approvals_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_request_id_key UNIQUE (request_id);
ALTER TABLE ONLY public.approvals_eventstream
    ADD CONSTRAINT approvals_eventstream_name_key UNIQUE (name);
ALTER TABLE ONLY public.approvals_eventstream
    ADD CONSTRAINT approvals_eventstream_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_invitation
    ADD CONSTRAINT approvals_invitation_pkey PRIMARY KEY (person_id);
ALTER TABLE ONLY public.approvals_lastnotice
    ADD CONSTRAINT approvals_lastnotice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_lastnotice
    ADD CONSTRAINT approvals_lastnotice_recipient_key UNIQUE (recipient);
ALTER TABLE ONLY public.approvals_notificationrule
    ADD CONSTRAINT approvals_notificationrule_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_outboxevent
    ADD CONSTRAINT approvals_outboxevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_pendingchange
    ADD CONSTRAINT approvals_pendingchange_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_personsession
    ADD CONSTRAINT approvals_personsession_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_personsession
    ADD CONSTRAINT approvals_personsession_session_key_key UNIQUE (session_key);
ALTER TABLE ONLY public.approvals_preferences
    ADD CONSTRAINT approvals_preferences_pkey PRIMARY KEY (person_id);
ALTER TABLE ONLY public.approvals_prioritysettings
    ADD CONSTRAINT approvals_prioritysettings_pkey PRIMARY KEY (priority);
ALTER TABLE ONLY public.approvals_pushsubscription
    ADD CONSTRAINT approvals_pushsubscription_endpoint_key UNIQUE (endpoint);
ALTER TABLE ONLY public.approvals_pushsubscription
    ADD CONSTRAINT approvals_pushsubscription_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_requestcomment
    ADD CONSTRAINT approvals_requestcomment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_resumestate
    ADD CONSTRAINT approvals_resumestate_pkey PRIMARY KEY (request_id);
ALTER TABLE ONLY public.approvals_resumption
    ADD CONSTRAINT approvals_resumption_pkey PRIMARY KEY (request_id);
ALTER TABLE ONLY public.approvals_role
    ADD CONSTRAINT approvals_role_group_id_key UNIQUE (group_id);
ALTER TABLE ONLY public.approvals_role
    ADD CONSTRAINT approvals_role_name_key UNIQUE (name);
ALTER TABLE ONLY public.approvals_role
    ADD CONSTRAINT approvals_role_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_savedview
    ADD CONSTRAINT approvals_savedview_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_searchtext
    ADD CONSTRAINT approvals_searchtext_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_searchtext
    ADD CONSTRAINT approvals_searchtext_request_id_key UNIQUE (request_id);
ALTER TABLE ONLY public.approvals_signingsecret
    ADD CONSTRAINT approvals_signingsecret_nonce_key UNIQUE (nonce);
ALTER TABLE ONLY public.approvals_signingsecret
    ADD CONSTRAINT approvals_signingsecret_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_snooze
    ADD CONSTRAINT approvals_snooze_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_toolsettings
    ADD CONSTRAINT approvals_toolsettings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_toolsettings
    ADD CONSTRAINT approvals_toolsettings_tool_name_key UNIQUE (tool_name);
ALTER TABLE ONLY public.approvals_webhookendpoint
    ADD CONSTRAINT approvals_webhookendpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_worker
    ADD CONSTRAINT approvals_worker_name_key UNIQUE (name);
ALTER TABLE ONLY public.approvals_worker
    ADD CONSTRAINT approvals_worker_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_workflow
    ADD CONSTRAINT approvals_workflow_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_attachment
    ADD CONSTRAINT attachment_in_chat UNIQUE (chat_id, file_id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chat_branch_token UNIQUE (owner_id, branch_token);
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chat_public_id UNIQUE (owner_id, public_id);
ALTER TABLE ONLY public.chats_attachment
    ADD CONSTRAINT chats_attachment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chats_chat_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_message
    ADD CONSTRAINT chats_message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_modelprice
    ADD CONSTRAINT chats_modelprice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_step
    ADD CONSTRAINT chats_step_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT chats_turn_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT chats_turn_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.chats_turncheckpoint
    ADD CONSTRAINT chats_turncheckpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_turnevent
    ADD CONSTRAINT chats_turnevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chats_turncheckpoint
    ADD CONSTRAINT checkpoint_ordinal UNIQUE (chat_pk, message_id, ordinal);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.chats_message
    ADD CONSTRAINT message_position UNIQUE (chat_id, "position");
ALTER TABLE ONLY public.chats_modelprice
    ADD CONSTRAINT model_price_of_a_tier UNIQUE (prefix, valid_from, above, service_tier);
ALTER TABLE ONLY public.approvals_pendingchange
    ADD CONSTRAINT one_pending_change_of_each UNIQUE (person_id, kind);
ALTER TABLE ONLY public.approvals_outboxevent
    ADD CONSTRAINT outbox_event_target UNIQUE (event_id, target);
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);
ALTER TABLE ONLY public.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_savedview
    ADD CONSTRAINT saved_view_of_page UNIQUE (owner_id, page, name);
ALTER TABLE ONLY public.approvals_snooze
    ADD CONSTRAINT snooze_once UNIQUE (person_id, request_id);
ALTER TABLE ONLY public.chats_step
    ADD CONSTRAINT step_index UNIQUE (turn_id, index);
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT tool_call_id_in_chat UNIQUE (chat_id, tool_call_id);
ALTER TABLE ONLY public.chats_turnevent
    ADD CONSTRAINT turn_event_seq UNIQUE (turn_id, seq);
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT turn_message UNIQUE (chat_id, message_id);
ALTER TABLE ONLY public.approvals_workflow
    ADD CONSTRAINT workflow_scope_key UNIQUE (scope, key);
CREATE INDEX account_emailaddress_email_03be32b2 ON public.account_emailaddress USING btree (email);
CREATE INDEX account_emailaddress_email_03be32b2_like ON public.account_emailaddress USING btree (email varchar_pattern_ops);
CREATE INDEX account_emailaddress_user_id_2c513194 ON public.account_emailaddress USING btree (user_id);
CREATE INDEX account_emailconfirmation_email_address_id_5b7f8c58 ON public.account_emailconfirmation USING btree (email_address_id);
CREATE INDEX account_emailconfirmation_key_f43612bd_like ON public.account_emailconfirmation USING btree (key varchar_pattern_ops);
CREATE INDEX approvals_apikey_prefix_8d9750fc_like ON public.approvals_apikey USING btree (prefix varchar_pattern_ops);
CREATE INDEX approvals_apikey_user_id_70cbb93a ON public.approvals_apikey USING btree (user_id);
CREATE INDEX approvals_eventstream_name_fa73adf3_like ON public.approvals_eventstream USING btree (name varchar_pattern_ops);
CREATE INDEX approvals_lastnotice_recipient_c0cb7b69_like ON public.approvals_lastnotice USING btree (recipient varchar_pattern_ops);
CREATE INDEX approvals_notificationrule_group_id_d7ce0426 ON public.approvals_notificationrule USING btree (group_id);
CREATE INDEX approvals_notificationrule_person_id_7232be65 ON public.approvals_notificationrule USING btree (person_id);
CREATE INDEX approvals_pendingchange_person_id_399f3a66 ON public.approvals_pendingchange USING btree (person_id);
CREATE INDEX approvals_pendingchange_requested_by_id_60e999b7 ON public.approvals_pendingchange USING btree (requested_by_id);
CREATE INDEX approvals_personsession_session_key_eccd7f79_like ON public.approvals_personsession USING btree (session_key varchar_pattern_ops);
CREATE INDEX approvals_prioritysettings_priority_518d5731_like ON public.approvals_prioritysettings USING btree (priority varchar_pattern_ops);
CREATE INDEX approvals_pushsubscription_endpoint_fb35dcc4_like ON public.approvals_pushsubscription USING btree (endpoint varchar_pattern_ops);
CREATE INDEX approvals_pushsubscription_person_id_7b7e400c ON public.approvals_pushsubscription USING btree (person_id);
CREATE INDEX approvals_role_name_3cabb7af_like ON public.approvals_role USING btree (name varchar_pattern_ops);
CREATE INDEX approvals_savedview_owner_id_877725ea ON public.approvals_savedview USING btree (owner_id);
CREATE INDEX approvals_search ON public.approvals_searchtext USING gin (array_to_tsvector(string_to_array(words, ' '::text)));
CREATE INDEX approvals_signingsecret_api_key_id_4e485ed2 ON public.approvals_signingsecret USING btree (api_key_id);
CREATE INDEX approvals_signingsecret_endpoint_id_90276644 ON public.approvals_signingsecret USING btree (endpoint_id);
CREATE INDEX approvals_signingsecret_nonce_524e0fec_like ON public.approvals_signingsecret USING btree (nonce varchar_pattern_ops);
CREATE INDEX approvals_snooze_person_id_ac8c0543 ON public.approvals_snooze USING btree (person_id);
CREATE INDEX approvals_snooze_request_id_1fd82c0b ON public.approvals_snooze USING btree (request_id);
CREATE INDEX approvals_toolsettings_tool_name_dbe9e00b_like ON public.approvals_toolsettings USING btree (tool_name varchar_pattern_ops);
CREATE INDEX approvals_worker_name_9432f436_like ON public.approvals_worker USING btree (name varchar_pattern_ops);
CREATE INDEX approvals_worker_seen_at_33440193 ON public.approvals_worker USING btree (seen_at);
CREATE INDEX attachment_file ON public.chats_attachment USING btree (file_id);
CREATE INDEX audit_actor ON public.approvals_auditentry USING btree (actor_name);
CREATE INDEX audit_actor_at ON public.approvals_auditentry USING btree (actor_name, at);
CREATE INDEX audit_amount ON public.approvals_auditentry USING btree (amount, id) WHERE (amount IS NOT NULL);
CREATE INDEX audit_at ON public.approvals_auditentry USING btree (at);
CREATE UNIQUE INDEX audit_dedup_key ON public.approvals_auditentry USING btree (dedup_key) WHERE (dedup_key IS NOT NULL);
CREATE INDEX audit_event ON public.approvals_auditentry USING btree (event);
CREATE INDEX audit_event_at ON public.approvals_auditentry USING btree (event, at);
CREATE INDEX audit_request ON public.approvals_auditentry USING btree (request_id);
CREATE INDEX audit_run ON public.approvals_auditentry USING btree (scope, run_id);
CREATE INDEX audit_thread ON public.approvals_auditentry USING btree (thread_id);
CREATE INDEX audit_tool ON public.approvals_auditentry USING btree (tool_name);
CREATE INDEX audit_tool_at ON public.approvals_auditentry USING btree (tool_name, at);
CREATE INDEX audit_verdict ON public.approvals_auditentry USING btree (verdict) WHERE ((verdict)::text > ''::text);
CREATE INDEX audit_verdict_at ON public.approvals_auditentry USING btree (verdict, at) WHERE ((verdict)::text > ''::text);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON public.auth_user_groups USING btree (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON public.auth_user_groups USING btree (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON public.auth_user_user_permissions USING btree (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON public.auth_user_user_permissions USING btree (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON public.auth_user USING btree (username varchar_pattern_ops);
CREATE INDEX chat_recent ON public.chats_chat USING btree (owner_id, updated_at DESC, id DESC);
CREATE INDEX chat_recent_all ON public.chats_chat USING btree (updated_at DESC, id DESC);
CREATE INDEX chats_chat_branched_from_id_963e98f8 ON public.chats_chat USING btree (branched_from_id);
CREATE INDEX chats_chat_root_id_e279c198 ON public.chats_chat USING btree (root_id);
CREATE INDEX chats_toolcall_approval_id_31dc31f1 ON public.chats_toolcall USING btree (approval_id);
CREATE INDEX chats_toolcall_step_id_c0a3c1be ON public.chats_toolcall USING btree (step_id);
CREATE INDEX chats_toolcall_turn_id_81bd7c35 ON public.chats_toolcall USING btree (turn_id);
CREATE INDEX chats_turn_parent_call_id_c1c6a916 ON public.chats_turn USING btree (parent_call_id);
CREATE INDEX chats_turn_root_id_97af5399 ON public.chats_turn USING btree (root_id);
CREATE INDEX checkpoint_when ON public.chats_turncheckpoint USING btree (chat_pk, created_at, id);
CREATE INDEX comment_thread ON public.approvals_requestcomment USING btree (request_id, id DESC);
CREATE INDEX decision_age ON public.approvals_decision USING btree (decided_at DESC, id DESC);
CREATE INDEX decision_by ON public.approvals_decision USING btree (by_name, decided_at DESC, request_id DESC);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));
CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);
CREATE UNIQUE INDEX message_id_shown_in_chat ON public.chats_message USING btree (chat_id, message_id) WHERE (cut_at IS NULL);
CREATE INDEX message_when ON public.chats_message USING btree (chat_id, created_at, id);
CREATE INDEX outbox_deliveries ON public.approvals_outboxevent USING btree (target, id DESC) WHERE ((channel)::text = 'webhook'::text);
CREATE INDEX outbox_due ON public.approvals_outboxevent USING btree (channel, next_attempt_at) WHERE ((dead_at IS NULL) AND (delivered_at IS NULL));
CREATE INDEX outbox_open ON public.approvals_outboxevent USING btree (target, stream, id) WHERE ((dead_at IS NULL) AND (delivered_at IS NULL));
CREATE INDEX person_session_newest ON public.approvals_personsession USING btree (person_id, started_at DESC);
CREATE INDEX procrastinate_events_job_id_fkey_v1 ON public.procrastinate_events USING btree (job_id);
CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON public.procrastinate_jobs USING btree (id, lock) WHERE (status = ANY (ARRAY['todo'::public.procrastinate_job_status, 'doing'::public.procrastinate_job_status]));
CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON public.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_priority_idx_v1 ON public.procrastinate_jobs USING btree (priority DESC, id) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON public.procrastinate_jobs USING btree (queue_name);
CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON public.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON public.procrastinate_periodic_defers USING btree (job_id);
CREATE INDEX request_assigned ON public.approvals_approvalrequest USING btree (assigned_to_id, workflow_id) WHERE (assigned_to_id IS NOT NULL);
CREATE INDEX request_claimant ON public.approvals_approvalrequest USING btree (claimed_by_id) WHERE (claimed_by_id IS NOT NULL);
CREATE INDEX request_claimed ON public.approvals_approvalrequest USING btree (claimed_at) WHERE ((claimed_at IS NOT NULL) AND ((status)::text = 'pending'::text));
CREATE INDEX request_due ON public.approvals_approvalrequest USING btree (deadline_at) WHERE ((deadline_at IS NOT NULL) AND ((status)::text = 'pending'::text));
CREATE INDEX request_inbox_requester ON public.approvals_approvalrequest USING btree (requested_by_id, status, urgency, created_at, id);
CREATE INDEX request_latest ON public.approvals_approvalrequest USING btree (changed_at DESC, id DESC);
CREATE INDEX request_latest_agent ON public.approvals_approvalrequest USING btree (agent, changed_at DESC, id DESC);
CREATE INDEX request_latest_mine ON public.approvals_approvalrequest USING btree (assigned_to_id, changed_at DESC, id DESC) WHERE (assigned_to_id IS NOT NULL);
CREATE INDEX request_latest_requester ON public.approvals_approvalrequest USING btree (requested_by_id, changed_at DESC, id DESC);
CREATE INDEX request_latest_status ON public.approvals_approvalrequest USING btree (status, changed_at DESC, id DESC);
CREATE INDEX request_latest_tool ON public.approvals_approvalrequest USING btree (tool_name, changed_at DESC, id DESC);
CREATE INDEX request_latest_workflow ON public.approvals_approvalrequest USING btree (workflow_id, changed_at DESC, id DESC);
CREATE INDEX request_newest ON public.approvals_approvalrequest USING btree (created_at DESC, id DESC);
CREATE INDEX request_newest_kind ON public.approvals_approvalrequest USING btree (kind, created_at DESC, id DESC);
CREATE INDEX request_newest_priority ON public.approvals_approvalrequest USING btree (priority, created_at DESC, id DESC);
CREATE INDEX request_newest_status ON public.approvals_approvalrequest USING btree (status, created_at DESC, id DESC);
CREATE INDEX request_newest_tool ON public.approvals_approvalrequest USING btree (tool_name, created_at DESC, id DESC);
CREATE UNIQUE INDEX request_of_call ON public.approvals_approvalrequest USING btree (scope, tool_call_id, kind, attempt) WHERE (tool_call_id IS NOT NULL);
CREATE UNIQUE INDEX request_of_key ON public.approvals_approvalrequest USING btree (scope, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX request_touched ON public.approvals_approvalrequest USING btree (touched_at) WHERE (touched_at IS NOT NULL);
CREATE INDEX request_waiting ON public.approvals_approvalrequest USING btree (urgency, created_at, id) WHERE ((status)::text = 'pending'::text);
CREATE INDEX request_waiting_agent ON public.approvals_approvalrequest USING btree (agent, urgency, created_at, id) WHERE ((status)::text = 'pending'::text);
CREATE INDEX request_waiting_mine ON public.approvals_approvalrequest USING btree (assigned_to_id, urgency, created_at, id) WHERE ((status)::text = 'pending'::text);
CREATE INDEX request_waiting_tool ON public.approvals_approvalrequest USING btree (tool_name, urgency, created_at, id) WHERE ((status)::text = 'pending'::text);
CREATE INDEX request_waiting_workflow ON public.approvals_approvalrequest USING btree (workflow_id, urgency, created_at, id) WHERE ((status)::text = 'pending'::text);
CREATE INDEX resumption_lease ON public.approvals_resumption USING btree (leased_until) WHERE (leased_until IS NOT NULL);
CREATE INDEX tool_call_delegated ON public.chats_toolcall USING btree (turn_id) WHERE ((state)::text = 'delegated'::text);
CREATE INDEX tool_call_name ON public.chats_toolcall USING btree (chat_id, name);
CREATE INDEX tool_call_recovery ON public.chats_toolcall USING btree (recovery_id) WHERE (recovery_id IS NOT NULL);
CREATE INDEX tool_call_when ON public.chats_toolcall USING btree (chat_id, finished_at, id);
CREATE INDEX turn_due ON public.chats_turn USING btree (state, lease_until) WHERE ((state)::text = ANY ((ARRAY['queued'::character varying, 'running'::character varying, 'suspended'::character varying])::text[]));
CREATE INDEX turn_events_kept ON public.chats_turn USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (NOT events_pruned));
CREATE INDEX turn_nested_suspended ON public.chats_turn USING btree (root_id) WHERE ((root_id IS NOT NULL) AND ((state)::text = 'suspended'::text));
CREATE UNIQUE INDEX unique_primary_email ON public.account_emailaddress USING btree (user_id, "primary") WHERE "primary";
CREATE UNIQUE INDEX unique_verified_email ON public.account_emailaddress USING btree (email) WHERE verified;
CREATE INDEX workflow_key ON public.approvals_workflow USING btree (key);
CREATE INDEX workflow_over ON public.approvals_workflow USING btree (ended_at DESC, id DESC) WHERE (ended_at IS NOT NULL);
CREATE INDEX workflow_owner_ended ON public.approvals_workflow USING btree (owner_id, ended_at DESC, id DESC);
CREATE INDEX workflow_owner_suspended ON public.approvals_workflow USING btree (owner_id) WHERE ((state)::text = 'suspended'::text);
CREATE INDEX workflow_suspended ON public.approvals_workflow USING btree (urgency, suspended_at, id) WHERE ((state)::text = 'suspended'::text);
CREATE INDEX workflow_thread ON public.approvals_workflow USING btree (thread_id);
CREATE TRIGGER approvals_auditentry_no_delete BEFORE DELETE ON public.approvals_auditentry FOR EACH ROW EXECUTE FUNCTION public.approvals_auditentry_no_delete();
CREATE TRIGGER approvals_auditentry_no_delete_all BEFORE TRUNCATE ON public.approvals_auditentry FOR EACH STATEMENT EXECUTE FUNCTION public.approvals_auditentry_no_delete();
CREATE TRIGGER approvals_auditentry_no_update BEFORE UPDATE ON public.approvals_auditentry FOR EACH ROW EXECUTE FUNCTION public.approvals_auditentry_no_update();
CREATE TRIGGER approvals_decision_no_delete BEFORE DELETE ON public.approvals_decision FOR EACH ROW EXECUTE FUNCTION public.approvals_decision_no_delete();
CREATE TRIGGER approvals_decision_no_delete_all BEFORE TRUNCATE ON public.approvals_decision FOR EACH STATEMENT EXECUTE FUNCTION public.approvals_decision_no_delete();
CREATE TRIGGER approvals_decision_no_update BEFORE UPDATE ON public.approvals_decision FOR EACH ROW EXECUTE FUNCTION public.approvals_decision_no_update();
CREATE TRIGGER approvals_requestcomment_no_delete BEFORE DELETE ON public.approvals_requestcomment FOR EACH ROW EXECUTE FUNCTION public.approvals_requestcomment_no_delete();
CREATE TRIGGER approvals_requestcomment_no_delete_all BEFORE TRUNCATE ON public.approvals_requestcomment FOR EACH STATEMENT EXECUTE FUNCTION public.approvals_requestcomment_no_delete();
CREATE TRIGGER approvals_requestcomment_no_update BEFORE UPDATE ON public.approvals_requestcomment FOR EACH ROW EXECUTE FUNCTION public.approvals_requestcomment_no_update();
CREATE TRIGGER chats_turncheckpoint_no_delete BEFORE DELETE ON public.chats_turncheckpoint FOR EACH ROW EXECUTE FUNCTION public.chats_turncheckpoint_no_delete();
CREATE TRIGGER chats_turncheckpoint_no_delete_all BEFORE TRUNCATE ON public.chats_turncheckpoint FOR EACH STATEMENT EXECUTE FUNCTION public.chats_turncheckpoint_no_delete();
CREATE TRIGGER chats_turncheckpoint_no_update BEFORE UPDATE ON public.chats_turncheckpoint FOR EACH ROW EXECUTE FUNCTION public.chats_turncheckpoint_no_update();
CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN (((old.abort_requested = false) AND (new.abort_requested = true) AND (new.status = 'doing'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_notify_queue_abort_job_v1();
CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_notify_queue_job_inserted_v1();
CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.abort_requested = true)) EXECUTE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1();
CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_unlink_periodic_defers_v1();
CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.scheduled_at IS NOT NULL) AND (new.status = 'todo'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1();
CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1();
CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_update_v1();
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_2c513194_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirm_email_address_id_5b7f8c58_fk_account_e FOREIGN KEY (email_address_id) REFERENCES public.account_emailaddress(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_apikey
    ADD CONSTRAINT approvals_apikey_user_id_70cbb93a_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_approvalrequest
    ADD CONSTRAINT approvals_approvalre_assigned_to_id_267f4d7f_fk_auth_user FOREIGN KEY (assigned_to_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_approvalrequest
    ADD CONSTRAINT approvals_approvalre_claimed_by_id_941a85a7_fk_auth_user FOREIGN KEY (claimed_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_approvalrequest
    ADD CONSTRAINT approvals_approvalre_requested_by_id_8bc46cdb_fk_auth_user FOREIGN KEY (requested_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_approvalrequest
    ADD CONSTRAINT approvals_approvalre_workflow_id_fed86817_fk_approvals FOREIGN KEY (workflow_id) REFERENCES public.approvals_workflow(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_invitation
    ADD CONSTRAINT approvals_invitation_person_id_7ac06a5b_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_notificationrule
    ADD CONSTRAINT approvals_notificationrule_group_id_d7ce0426_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_notificationrule
    ADD CONSTRAINT approvals_notificationrule_person_id_7232be65_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_pendingchange
    ADD CONSTRAINT approvals_pendingcha_requested_by_id_60e999b7_fk_auth_user FOREIGN KEY (requested_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_pendingchange
    ADD CONSTRAINT approvals_pendingchange_person_id_399f3a66_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_personsession
    ADD CONSTRAINT approvals_personsession_person_id_65f46fd4_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_preferences
    ADD CONSTRAINT approvals_preferences_person_id_a7b84df1_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_pushsubscription
    ADD CONSTRAINT approvals_pushsubscription_person_id_7b7e400c_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_resumestate
    ADD CONSTRAINT approvals_resumestat_request_id_27a542d9_fk_approvals FOREIGN KEY (request_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_resumption
    ADD CONSTRAINT approvals_resumption_request_id_de13e1dd_fk_approvals FOREIGN KEY (request_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_role
    ADD CONSTRAINT approvals_role_group_id_76583a37_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_savedview
    ADD CONSTRAINT approvals_savedview_owner_id_877725ea_fk_auth_user_id FOREIGN KEY (owner_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_searchtext
    ADD CONSTRAINT approvals_searchtext_request_id_7a3d2f3b_fk_approvals FOREIGN KEY (request_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_signingsecret
    ADD CONSTRAINT approvals_signingsec_api_key_id_4e485ed2_fk_approvals FOREIGN KEY (api_key_id) REFERENCES public.approvals_apikey(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_signingsecret
    ADD CONSTRAINT approvals_signingsec_endpoint_id_90276644_fk_approvals FOREIGN KEY (endpoint_id) REFERENCES public.approvals_webhookendpoint(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_snooze
    ADD CONSTRAINT approvals_snooze_person_id_ac8c0543_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_snooze
    ADD CONSTRAINT approvals_snooze_request_id_1fd82c0b_fk_approvals FOREIGN KEY (request_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_workflow
    ADD CONSTRAINT approvals_workflow_owner_id_7ae98d6b_fk_auth_user_id FOREIGN KEY (owner_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_attachment
    ADD CONSTRAINT chats_attachment_chat_id_298338fd_fk_chats_chat_id FOREIGN KEY (chat_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chats_chat_branched_from_id_963e98f8_fk_chats_chat_id FOREIGN KEY (branched_from_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chats_chat_owner_id_c5eb7f5c_fk_auth_user_id FOREIGN KEY (owner_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_chat
    ADD CONSTRAINT chats_chat_root_id_e279c198_fk_chats_chat_id FOREIGN KEY (root_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_message
    ADD CONSTRAINT chats_message_chat_id_f3080004_fk_chats_chat_id FOREIGN KEY (chat_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_step
    ADD CONSTRAINT chats_step_turn_id_caad93b5_fk_chats_turn_id FOREIGN KEY (turn_id) REFERENCES public.chats_turn(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_approval_id_31dc31f1_fk_approvals FOREIGN KEY (approval_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_chat_id_9044f608_fk_chats_chat_id FOREIGN KEY (chat_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_recovery_id_7522f412_fk_approvals FOREIGN KEY (recovery_id) REFERENCES public.approvals_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_step_id_c0a3c1be_fk_chats_step_id FOREIGN KEY (step_id) REFERENCES public.chats_step(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_toolcall
    ADD CONSTRAINT chats_toolcall_turn_id_81bd7c35_fk_chats_turn_id FOREIGN KEY (turn_id) REFERENCES public.chats_turn(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT chats_turn_chat_id_42ed7d2b_fk_chats_chat_id FOREIGN KEY (chat_id) REFERENCES public.chats_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT chats_turn_parent_call_id_c1c6a916_fk_chats_toolcall_id FOREIGN KEY (parent_call_id) REFERENCES public.chats_toolcall(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_turn
    ADD CONSTRAINT chats_turn_root_id_97af5399_fk_chats_turn_id FOREIGN KEY (root_id) REFERENCES public.chats_turn(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.chats_turnevent
    ADD CONSTRAINT chats_turnevent_turn_id_0e281704_fk_chats_turn_id FOREIGN KEY (turn_id) REFERENCES public.chats_turn(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id);

-- Events of Paywheel, kept by their id before anything acts on them (DEC-2025-10-17-001).
CREATE TABLE payments.event (
    id           text PRIMARY KEY,  -- Paywheel's own
    type         text NOT NULL,
    body         jsonb NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now(),
    done_at      timestamptz
);
CREATE INDEX event_to_do ON payments.event (received_at) WHERE done_at IS NULL;

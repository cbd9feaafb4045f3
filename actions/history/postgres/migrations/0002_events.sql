CREATE TABLE events (
    uid        text        NOT NULL PRIMARY KEY,
    kind       text        NOT NULL,
    object_uid text        NOT NULL,
    namespace  text        NOT NULL,
    name       text        NOT NULL,
    type       text        NOT NULL,
    reason     text        NOT NULL,
    action     text        NOT NULL,
    message    text        NOT NULL,
    count      integer     NOT NULL,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL
);
CREATE INDEX events_by_name ON events (namespace, name, last_at);
CREATE INDEX events_by_time ON events (last_at);

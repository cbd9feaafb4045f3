CREATE TABLE revisions (
    uid         text        NOT NULL,
    generation  bigint      NOT NULL,
    attempt     bigint      NOT NULL,
    namespace   text        NOT NULL,
    name        text        NOT NULL,
    hash        text        NOT NULL,
    reason      text        NOT NULL,
    result      text        NOT NULL,
    message     text        NOT NULL,
    nodes       integer     NOT NULL,
    created     integer     NOT NULL,
    updated     integer     NOT NULL,
    deleted     integer     NOT NULL,
    duration_ms bigint      NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (uid, generation, attempt)
);
CREATE INDEX revisions_by_name ON revisions (namespace, name, finished_at);
CREATE INDEX revisions_by_time ON revisions (finished_at);

CREATE TABLE runs (
    uid         text        NOT NULL,
    generation  bigint      NOT NULL,
    attempt     bigint      NOT NULL,
    namespace   text        NOT NULL,
    name        text        NOT NULL,
    reason      text        NOT NULL,
    result      text        NOT NULL,
    message     text        NOT NULL,
    url         text        NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (uid, generation, attempt)
);
CREATE INDEX runs_by_name ON runs (namespace, name, finished_at);
CREATE INDEX runs_by_time ON runs (finished_at);

-- What tiers, distinct counting, caps and points need. Points that were granted leave through `grant_outbox`.

ALTER TABLE user_task
    ADD COLUMN granted    TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- grants given: tiers, or 1 for a task without
    ADD COLUMN taken_back SMALLINT UNSIGNED NOT NULL DEFAULT 0,   -- how often its grants were taken back: a part of later grants' ids
    ADD COLUMN members    BLOB NULL;                              -- mode distinct: 8 bytes (BLAKE2b) of each member that was counted

-- What was completed before had its points at once; no claim gives them again.
UPDATE user_task SET granted = 1 WHERE state > 0;

-- The version at which the user was cleared last; a part of his grants' ids, so that a new life earns anew.
ALTER TABLE user_state ADD COLUMN born_version BIGINT UNSIGNED NOT NULL DEFAULT 0;

-- What all users together have used of a task's caps. The only rows that two DBSvrs share: locked FOR UPDATE, in key order, last.
CREATE TABLE task_quota (
    task_id    INT UNSIGNED NOT NULL,
    period_key VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- or `total`, or `points`
    used       BIGINT NOT NULL,
    PRIMARY KEY (task_id, period_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Points earned, and what became of them on the way to the points system. Inserted in the write's own transaction; the points relay
-- moves the state, by primary key. A user's grants are delivered in the order of (version, tier).
CREATE TABLE grant_outbox (
    grant_id   VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,  -- uid:task:period:tier, then ~n where more is needed
    uid        BIGINT UNSIGNED NOT NULL,
    version    BIGINT UNSIGNED NOT NULL,   -- the user's, after the write
    task_id    INT UNSIGNED NOT NULL,
    period_key VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    tier       TINYINT UNSIGNED NOT NULL,  -- 1 …; 0 for a task without
    points     BIGINT NOT NULL,            -- negative: taken back
    total      BIGINT NOT NULL,            -- the user's points after it
    revision   INT UNSIGNED NOT NULL,
    created_ms BIGINT NOT NULL,
    state      TINYINT UNSIGNED NOT NULL DEFAULT 0,  -- 0 pending, 1 sent, 2 confirmed, 3 rejected, 4 indeterminate, 5 dead, 6 superseded by a newer total
    attempts   SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    due_ms     BIGINT NOT NULL DEFAULT 0,  -- not before; of a sent one: when it counts as indeterminate
    settled_ms BIGINT NULL,
    error      VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
    KEY grant_outbox_due (state, due_ms),
    KEY grant_outbox_uid (uid, state, version),
    KEY grant_outbox_created (created_ms)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

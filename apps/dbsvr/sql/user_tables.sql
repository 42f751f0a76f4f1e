-- The tables of schema tasksys_user. The migration of apps.dbsvr runs this file; the tests' private pairs do too.
-- master_db_svr writes every row here; plain SQL that MySQL 8 and MariaDB share. Moments are milliseconds since 1970 (UTC).

CREATE TABLE user_state (
    uid        BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    version    BIGINT UNSIGNED NOT NULL,
    points     BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE user_task (
    uid          BIGINT UNSIGNED NOT NULL,
    task_id      INT UNSIGNED NOT NULL,
    period_key   VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    progress     BIGINT NOT NULL,
    state        TINYINT UNSIGNED NOT NULL,  -- 0 in_progress, 1 completed, 2 claimed
    completed_at BIGINT NULL,
    claimed_at   BIGINT NULL,
    revision     INT UNSIGNED NOT NULL,
    PRIMARY KEY (uid, task_id, period_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What a repeated event id is answered with. A clear keeps these rows.
CREATE TABLE applied_event (
    uid      BIGINT UNSIGNED NOT NULL,
    event_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    result   MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    day      DATE NOT NULL,
    PRIMARY KEY (uid, event_id),
    KEY applied_event_day (day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a DBSvr: its tick is what every stamp, type and update tick counts in.
CREATE TABLE db_info (
    instance     VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    generation   INT UNSIGNED NOT NULL,
    fork_tick    BIGINT UNSIGNED NOT NULL,
    tick         BIGINT UNSIGNED NOT NULL,
    wall_us      BIGINT UNSIGNED NOT NULL,
    worker_epoch INT UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

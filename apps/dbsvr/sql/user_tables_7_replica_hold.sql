-- Replicas that are not to be used until somebody releases them: a row is a hold. All DBSvrs look at it; each one's master worker writes
-- it when told so (TASK.HOLD, TASK.RELEASE). Taking a replica out breaks no promise, whoever does it and whenever.

CREATE TABLE replica_hold (
    replica  VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    reason   VARCHAR(200) NOT NULL,
    held_by  VARCHAR(150) NOT NULL,
    since_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Who owns which users. `home` owns them when all is well; a change of owner raises the epoch, and is fenced by locking the row.

CREATE TABLE segment_owner (
    segment    VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    first_uid  BIGINT UNSIGNED NOT NULL,
    last_uid   BIGINT UNSIGNED NOT NULL,
    home       VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    owner      VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    epoch      INT UNSIGNED NOT NULL,
    lease_ms   INT UNSIGNED NOT NULL,
    changed_at DATETIME(3) NOT NULL  -- by the master's clock alone
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

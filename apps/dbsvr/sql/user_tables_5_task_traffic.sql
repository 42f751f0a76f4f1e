-- How often each task was begun and completed on each day (UTC), as each DBSvr has counted it. Figures for lists, about a second old; no
-- part of the promise. A DBSvr's master worker adds to the rows of its instance, and deletes its old ones.

CREATE TABLE task_traffic (
    day       DATE NOT NULL,
    task_id   INT UNSIGNED NOT NULL,
    instance  VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    started   BIGINT UNSIGNED NOT NULL,
    completed BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (day, task_id, instance)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

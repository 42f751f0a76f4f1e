-- Copies to be removed on cache nodes: one row for each write and node ('*': every node), made in the write's own transaction. A row is
-- closed by deleting it once the node has confirmed. A purge removes only what is older than (generation, version). uid 0: flush the node.

CREATE TABLE cache_purge (
    id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    uid        BIGINT UNSIGNED NOT NULL,
    generation INT UNSIGNED NOT NULL,
    version    BIGINT UNSIGNED NOT NULL,
    node       VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_ms BIGINT NOT NULL,
    KEY cache_purge_node (node, id),
    KEY cache_purge_uid (uid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

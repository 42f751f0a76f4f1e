-- Which server wrote the row last (its @@server_id; 0: not known yet): a claim on another one begins a new generation.

ALTER TABLE db_info ADD COLUMN server_id INT UNSIGNED NOT NULL DEFAULT 0;

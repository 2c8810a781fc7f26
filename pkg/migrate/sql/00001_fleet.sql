-- The tables that do not depend on the number of partitions.
-- Every statement may run again: YDB has no transactions over DDL, so a
-- migration that was cut off is simply repeated.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS fleet_settings (
    name Utf8 NOT NULL,
    value Utf8,
    PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS partitions (
    partition_id Uint16 NOT NULL,
    epoch Uint64,
    owner Utf8,
    acquired_at Timestamp,
    PRIMARY KEY (partition_id)
);

CREATE TABLE IF NOT EXISTS enqueue_batches (
    batch_id Utf8 NOT NULL,
    created_at Timestamp,
    tasks Uint32,
    PRIMARY KEY (batch_id)
) WITH (
    AUTO_PARTITIONING_BY_SIZE = ENABLED,
    AUTO_PARTITIONING_BY_LOAD = ENABLED,
    TTL = Interval("PT1H") ON created_at
);

CREATE TABLE IF NOT EXISTS task_ids (
    id Utf8 NOT NULL,
    partition_id Uint16,
    expires_at Timestamp,
    PRIMARY KEY (id)
) WITH (
    AUTO_PARTITIONING_BY_SIZE = ENABLED,
    AUTO_PARTITIONING_BY_LOAD = ENABLED,
    TTL = Interval("PT0S") ON expires_at
);

-- +goose Down
DROP TABLE IF EXISTS task_ids;
DROP TABLE IF EXISTS enqueue_batches;
DROP TABLE IF EXISTS partitions;
DROP TABLE IF EXISTS fleet_settings;

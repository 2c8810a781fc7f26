package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
)

// The rows of fleet_settings.
const (
	settingPartitions = "partitions"
	settingVersion    = "schema_version"
)

// Facts are what a fleet's folder says about itself.
type Facts struct {
	Folder     string
	Partitions int   // 0: no fleet here yet
	Version    int64 // of the schema; 0: none, or not all of it
}

// readFacts reads fleet_settings. A missing table gives zero facts.
func readFacts(ctx context.Context, db *ydb.Driver, folder string) (Facts, error) {
	facts := Facts{Folder: folder}
	settings, err := readSettings(ctx, db, folder)
	if err != nil {
		return facts, fmt.Errorf("migrate: reading the settings of folder %s: %w", folder, err)
	}
	if text, ok := settings[settingPartitions]; ok {
		if facts.Partitions, err = strconv.Atoi(text); err != nil || facts.Partitions < 1 {
			return facts, fmt.Errorf("migrate: setting %s of folder %s is %q: must be a positive number", settingPartitions, folder, text)
		}
	}
	if text, ok := settings[settingVersion]; ok {
		if facts.Version, err = strconv.ParseInt(text, 10, 64); err != nil || facts.Version < 0 {
			return facts, fmt.Errorf("migrate: setting %s of folder %s is %q: must be a number", settingVersion, folder, text)
		}
	}
	return facts, nil
}

func readSettings(ctx context.Context, db *ydb.Driver, folder string) (map[string]string, error) {
	text := fmt.Sprintf("SELECT name, value FROM `%s/fleet_settings` LIMIT 1000", folderPath(db, folder))
	rows, err := db.Query().QueryResultSet(ctx, text, query.WithIdempotent())
	if ydb.IsOperationErrorSchemeError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for {
		row, err := rows.NextRow(ctx)
		if errors.Is(err, io.EOF) {
			return settings, rows.Close(ctx)
		}
		if err != nil {
			return nil, err
		}
		var name string
		var value *string
		if err := row.Scan(&name, &value); err != nil {
			return nil, err
		}
		if value != nil {
			settings[name] = *value
		}
	}
}

// writeSetting is idempotent.
func writeSetting(ctx context.Context, db *ydb.Driver, folder, name string, value int64) error {
	text := fmt.Sprintf("UPSERT INTO `%s/fleet_settings` (name, value) VALUES ($name, $value)", folderPath(db, folder))
	err := db.Query().Exec(ctx, text, query.WithIdempotent(), query.WithParameters(
		ydb.ParamsBuilder().
			Param("$name").Text(name).
			Param("$value").Text(strconv.FormatInt(value, 10)).
			Build()))
	if err != nil {
		return fmt.Errorf("migrate: writing setting %s of folder %s: %w", name, folder, err)
	}
	return nil
}

func folderPath(db *ydb.Driver, folder string) string { return db.Name() + "/" + folder }

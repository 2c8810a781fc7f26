package taskstore

import (
	"context"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
)

const settingsText = "SELECT name, value FROM fleet_settings;\n"

// Settings reads what the migration stored about the fleet, by name.
func (s *Store) Settings(ctx context.Context) (map[string]string, error) {
	var settings map[string]string
	_, err := s.run(ctx, statement{
		op: "settings", text: s.texts.settings, snapshot: true,
		reset: func() { settings = map[string]string{} },
		row: func(_ int, row query.Row) error {
			var name, value string
			err := row.Scan(&name, &value)
			settings[name] = value
			return err
		},
	})
	return settings, err
}

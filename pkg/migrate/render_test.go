package migrate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTablesAreSplitByPartition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		partitions int
		want       string
	}{
		{256, "PARTITION_AT_KEYS = (16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240)"},
		{4, "PARTITION_AT_KEYS = (1, 2, 3)"},
		{2, "PARTITION_AT_KEYS = (1)"},
		{1, "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 1"},
	} {
		for _, table := range tables {
			text, err := render(table, c.partitions)
			require.NoError(t, err)
			require.Contains(t, text, "CREATE TABLE IF NOT EXISTS "+table+" (")
			require.Contains(t, text, c.want)
			require.Contains(t, text, "AUTO_PARTITIONING_BY_LOAD = ENABLED")
			require.Equal(t, c.partitions > 1, strings.Contains(text, "PARTITION_AT_KEYS"))
			require.NotContains(t, text, "{{")
		}
	}
}

// TestTasksKeepTheirColumns: a task moves between the tables, so what is in one
// must have a place in the others.
func TestTasksKeepTheirColumns(t *testing.T) {
	t.Parallel()
	column := regexp.MustCompile(`(?m)^\s+([a-z_]+) (Utf8|String|Uint\d+|Timestamp|Json)`)
	own := map[string]bool{"lock_epoch": true, "lock_owner": true, "locked_until": true, "done_at": true, "died_at": true}
	want := map[string]string{}
	for _, table := range tables {
		text, err := render(table, 256)
		require.NoError(t, err)
		got := map[string]string{}
		for _, match := range column.FindAllStringSubmatch(text, -1) {
			if !own[match[1]] {
				got[match[1]] = match[2]
			}
		}
		if len(want) == 0 {
			want = got
			require.Len(t, want, 16)
		}
		require.Equal(t, want, got, table)
	}
}

package exec_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

const things = `CREATE TABLE things (
	id Uint64 NOT NULL, name Utf8 DEFAULT 'none'u, n Int32 NOT NULL DEFAULT 5, at Timestamp, PRIMARY KEY (id)
) WITH (AUTO_PARTITIONING_BY_SIZE = ENABLED, PARTITION_AT_KEYS = (10, 20), TTL = Interval("PT1H") ON at);`

func TestCreateTable(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(things, nil)
	table, ok := d.store.Catalog().Table("/local/things")
	require.True(t, ok)
	require.Equal(t, []int{0}, table.Key)
	require.Equal(t, &store.TTL{Column: "at", After: time.Hour}, table.TTL)
	require.Equal(t, []store.Setting{{Name: "AUTO_PARTITIONING_BY_SIZE", Value: "ENABLED"}, {Name: "PARTITION_AT_KEYS", Value: "(10), (20)"}}, table.Settings)

	d.must(`UPSERT INTO things (id) VALUES (1); INSERT INTO things (id, n) VALUES (2, 7); REPLACE INTO things (id, name) VALUES (3, NULL);`, nil)
	require.Equal(t, "1,none,5,null | 2,none,7,null | 3,null,5,null", d.must(`SELECT * FROM things;`, nil).set(0))
	d.must(`UPSERT INTO things (id, name) VALUES (2, 'two'); REPLACE INTO things (id) VALUES (3);`, nil)
	require.Equal(t, "2,two,7,null | 3,none,5,null", d.must(`SELECT * FROM things WHERE id > 1;`, nil).set(0))

	d.must(`CREATE TABLE IF NOT EXISTS things (other Utf8, PRIMARY KEY (other));`, nil)
	d.must("PRAGMA TablePathPrefix('/local/deep'); CREATE TABLE `er/x` (a Utf8, PRIMARY KEY (a));", nil)
	_, ok = d.store.Catalog().Table("/local/deep/er/x")
	require.True(t, ok)
}

func TestAlterAndDropTable(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(things, nil)
	d.must(`UPSERT INTO things (id) VALUES (1);`, nil)
	d.must(`ALTER TABLE things ADD COLUMN x Uint8 DEFAULT 3, DROP COLUMN name, SET (AUTO_PARTITIONING_BY_SIZE = DISABLED), RESET (TTL);
		ALTER TABLE things ALTER COLUMN n DROP NOT NULL;`, nil)
	require.Equal(t, "1,5,null,3", d.must(`SELECT * FROM things;`, nil).set(0))
	table, _ := d.store.Catalog().Table("/local/things")
	require.Nil(t, table.TTL)
	require.Equal(t, "DISABLED", table.Settings[0].Value)
	require.False(t, table.Columns[table.Column("n")].NotNull)
	d.must(`DROP TABLE things; DROP TABLE IF EXISTS things;`, nil)
	_, err := d.try(`SELECT 1 FROM things;`, nil)
	require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, issue.From(err).Status)
}

func TestRefusedDDL(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(things, nil)
	for _, c := range []struct {
		text   string
		status Ydb.StatusIds_StatusCode
		err    string
	}{
		{things, Ydb.StatusIds_GENERIC_ERROR, "path exist"},
		{`DROP TABLE nothing;`, Ydb.StatusIds_SCHEME_ERROR, "/local/nothing"},
		{`ALTER TABLE nothing ADD COLUMN x Utf8;`, Ydb.StatusIds_SCHEME_ERROR, "/local/nothing"},
		{`CREATE TABLE x (a Utf8);`, Ydb.StatusIds_GENERIC_ERROR, "rimary key"},
		{`CREATE TABLE x (a Utf8, a Utf8, PRIMARY KEY (a));`, Ydb.StatusIds_GENERIC_ERROR, "Duplicate column: a"},
		{`CREATE TABLE x (a Utf8, PRIMARY KEY (b));`, Ydb.StatusIds_GENERIC_ERROR, "Undefined column: b"},
		{`CREATE TABLE x (a Double, PRIMARY KEY (a));`, Ydb.StatusIds_SCHEME_ERROR, "wrong key type"},
		{`CREATE TABLE x (a List<Utf8>, PRIMARY KEY (a));`, Ydb.StatusIds_GENERIC_ERROR, "Invalid type for column: a"},
		{`CREATE TABLE x (a Utf8 DEFAULT 5, PRIMARY KEY (a));`, Ydb.StatusIds_GENERIC_ERROR, "Default expr"},
		{`CREATE TABLE x (a Utf8, PRIMARY KEY (a)) WITH (TTL = Interval("PT1H") ON b);`, Ydb.StatusIds_SCHEME_ERROR, "'b'"},
		{`CREATE TABLE x (a Utf8, PRIMARY KEY (a)) WITH (TTL = Interval("PT1H") ON a);`, Ydb.StatusIds_SCHEME_ERROR, "Unsupported column type for TTL"},
		{"CREATE TABLE `/elsewhere/x` (a Utf8, PRIMARY KEY (a));", Ydb.StatusIds_SCHEME_ERROR, "/elsewhere/x"},
		{`ALTER TABLE things DROP COLUMN id;`, Ydb.StatusIds_SCHEME_ERROR, "key column"},
		{`ALTER TABLE things DROP COLUMN at;`, Ydb.StatusIds_SCHEME_ERROR, "TTL column"},
		{`ALTER TABLE things DROP COLUMN nothing;`, Ydb.StatusIds_GENERIC_ERROR, "nothing"},
		{`ALTER TABLE things ADD COLUMN n Utf8;`, Ydb.StatusIds_GENERIC_ERROR, "already exists"},
		{`ALTER TABLE things ADD COLUMN z Utf8 NOT NULL;`, Ydb.StatusIds_SCHEME_ERROR, "NOT NULL"},
		{`ALTER TABLE things ADD COLUMN v Utf8; UPSERT INTO things (id, v) VALUES (1, 'x');`, Ydb.StatusIds_GENERIC_ERROR, "v"},
	} {
		_, err := d.try(c.text, nil)
		require.Error(t, err, c.text)
		require.Equal(t, c.status, issue.From(err).Status, "%s: %v", c.text, err)
		require.ErrorContains(t, err, c.err, c.text)
	}
}

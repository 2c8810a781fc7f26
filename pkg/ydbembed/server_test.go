package ydbembed_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestConfigIsCheckedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ydbembed.Start(t.Context(), ydbembed.Config{
		Memory: true, Dir: t.TempDir(), Listen: "nowhere", Database: "local", TTLInterval: -time.Second,
	})
	for _, field := range []string{"Dir and Memory", "Listen", "Database", "TTLInterval"} {
		require.ErrorContains(t, err, field)
	}
	_, err = ydbembed.Start(t.Context(), ydbembed.Config{})
	require.ErrorContains(t, err, "neither Dir nor Memory is set")
}

func TestConnectionStringCanBeDialled(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true, Listen: "0.0.0.0:0", Database: "/some/base"})
	require.Regexp(t, `^grpc://127\.0\.0\.1:\d+/some/base$`, server.DSN())
	exec(t, connect(t, server), "CREATE TABLE t (k Uint64 NOT NULL, PRIMARY KEY (k))")
}

func TestWhatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, ydbembed.Config{Dir: dir})

	_, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true, Listen: first.Addr()})
	require.ErrorContains(t, err, first.Addr()+" is in use")

	_, err = ydbembed.Start(t.Context(), ydbembed.Config{Dir: dir})
	require.ErrorContains(t, err, "data folder "+dir+" is locked: another server uses it")
}

func TestDataOutlivesTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := ydbembed.DefaultListen
	for run := range 3 {
		server, err := ydbembed.Start(t.Context(), ydbembed.Config{Dir: dir, Listen: address})
		require.NoError(t, err)
		address = server.Addr()
		t.Run("", func(t *testing.T) {
			db := connect(t, server)
			if run == 0 {
				kv(t, db, 0)
			}
			require.EqualValues(t, run, number(t, db, "SELECT COUNT(*) FROM kv"))
			fill(t, db, run+1, 10)
		})
		require.NoError(t, server.Close())
	}
}

// TestClientsSurviveARestart keeps one driver over a restart of its server.
func TestClientsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := ydbembed.Start(t.Context(), ydbembed.Config{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) }) // the second one, after its client
	db := connect(t, server)
	kv(t, db, 1)
	require.NoError(t, server.Close())

	server, err = ydbembed.Start(t.Context(), ydbembed.Config{Dir: dir, Listen: server.Addr()})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return db.Query().Exec(ctx, "UPSERT INTO kv (k) VALUES (2)") == nil
	}, patience, 50*time.Millisecond)
	require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM kv"))
}

func TestCloseEndsOpenStreams(t *testing.T) {
	t.Parallel()
	server, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
	require.NoError(t, err)
	cc, err := grpc.NewClient(server.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	client := rawClient(t, server)
	session := client.session()
	require.NotEmpty(t, session)
	began := time.Now()
	require.NoError(t, server.Close())
	require.NoError(t, server.Close(), "a second Close does nothing")
	require.Less(t, time.Since(began), 4*time.Second, "no stream holds the server up")
}

package ydbconn

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

const secret = "s3cr3t-word"

func parse(t *testing.T, env map[string]string, args ...string) (Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags := RegisterFlags(fs)
	require.NoError(t, fs.Parse(args))
	return flags.Config(func(name string) string { return env[name] })
}

func TestWhereTheDatabaseIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"one flag":           {args: []string{"--endpoint", "grpc://h:1/local"}, want: "grpc://h:1/local"},
		"two flags":          {args: []string{"--endpoint", "grpcs://h:1", "--database", "/ru/db"}, want: "grpcs://h:1/ru/db"},
		"database parameter": {args: []string{"--endpoint", "grpc://h:1/?database=/ru/db"}, want: "grpc://h:1/ru/db"},
		"trailing slash":     {args: []string{"--endpoint", "grpc://h:1/local/"}, want: "grpc://h:1/local"},
		"connection string":  {env: map[string]string{"YDB_CONNECTION_STRING": "grpc://h:1/local"}, want: "grpc://h:1/local"},
		"two variables":      {env: map[string]string{"YDB_ENDPOINT": "grpc://h:1", "YDB_DATABASE": "/local"}, want: "grpc://h:1/local"},
		"flag and variable":  {args: []string{"--endpoint", "grpc://h:1"}, env: map[string]string{"YDB_DATABASE": "/local"}, want: "grpc://h:1/local"},
		"flag wins": {
			args: []string{"--endpoint", "grpc://flag:1/local"},
			env:  map[string]string{"YDB_CONNECTION_STRING": "grpc://env:1/local"}, want: "grpc://flag:1/local",
		},
		"connection string wins": {
			env:  map[string]string{"YDB_CONNECTION_STRING": "grpc://string:1/local", "YDB_ENDPOINT": "grpc://env:1"},
			want: "grpc://string:1/local",
		},
		"database flag over connection string": {
			args: []string{"--database", "/other"},
			env:  map[string]string{"YDB_CONNECTION_STRING": "grpc://h:1/local"}, want: "grpc://h:1/other",
		},
		"ipv6": {args: []string{"--endpoint", "grpc://[::1]:2136/local"}, want: "grpc://[::1]:2136/local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := parse(t, c.env, c.args...)
			require.NoError(t, err)
			require.Equal(t, c.want, config.Target())
			require.True(t, strings.HasSuffix(config.FolderPath(), "/taskfleet"))
		})
	}
}

func TestConnectionErrorsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"nothing":            {want: "--endpoint grpc://localhost:2136/local"},
		"no database":        {args: []string{"--endpoint", "grpc://h:1"}, want: "database is missing"},
		"no port":            {args: []string{"--endpoint", "grpc://h/local"}, want: "port is missing"},
		"no scheme":          {args: []string{"--endpoint", "h:1/local"}, want: "scheme is missing"},
		"wrong scheme":       {args: []string{"--endpoint", "http://h:1/local"}, want: "must be grpc://host:port"},
		"relative database":  {args: []string{"--endpoint", "grpc://h:1", "--database", "local"}, want: "must be an absolute path"},
		"two databases":      {args: []string{"--endpoint", "grpc://h:1/a", "--database", "/b"}, want: "differ"},
		"variable is named":  {env: map[string]string{"YDB_CONNECTION_STRING": "grpc://h/local"}, want: "YDB_CONNECTION_STRING"},
		"folder with quotes": {args: []string{"--endpoint", "grpc://h:1/a", "--folder", "a`b"}, want: "folder \"a`b\": must be"},
		"no folder":          {args: []string{"--endpoint", "grpc://h:1/a", "--folder", ""}, want: "--folder is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, c.env, c.args...)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"grpc://user:" + secret + "@h:1/local", "grpc://user:" + secret + "@h/local", "grpc://user:" + secret + "@h:x/local",
		"user:" + secret + "@h:1/local", "grpc://user:" + secret + "@%zz:1/local", "http://user:" + secret + "@h:1",
	} {
		config, err := parse(t, map[string]string{"YDB_CONNECTION_STRING": text})
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", config, err, config.Credentials, config.LogValue()), secret, text)
	}
	config, err := parse(t, map[string]string{"YDB_ACCESS_TOKEN_CREDENTIALS": secret}, "--endpoint", "grpc://h:1/local")
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", config, config, config.Credentials), secret)
}

func TestCredentialsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want Credentials
	}{
		"none":      {want: Credentials{Kind: Anonymous}},
		"anonymous": {env: map[string]string{"YDB_ANONYMOUS_CREDENTIALS": "1"}, want: Credentials{Kind: Anonymous}},
		"token":     {env: map[string]string{"YDB_ACCESS_TOKEN_CREDENTIALS": "t"}, want: Credentials{Kind: AccessToken, Secret: "t"}},
		"metadata":  {env: map[string]string{"YDB_METADATA_CREDENTIALS": "1"}, want: Credentials{Kind: Metadata}},
		"key file":  {env: map[string]string{"YDB_SERVICE_ACCOUNT_KEY_FILE_CREDENTIALS": "k.json"}, want: Credentials{Kind: ServiceAccountKeyFile, File: "k.json"}},
		"static": {
			env: map[string]string{
				"YDB_STATIC_CREDENTIALS_USER": "u", "YDB_STATIC_CREDENTIALS_PASSWORD": "p", "YDB_STATIC_CREDENTIALS_ENDPOINT": "h:1",
			},
			want: Credentials{Kind: Static, User: "u", Secret: "p", Endpoint: "h:1"},
		},
		"connection string": {
			env:  map[string]string{"YDB_CONNECTION_STRING": "grpc://u:p@h:1/local", "YDB_ACCESS_TOKEN_CREDENTIALS": "t"},
			want: Credentials{Kind: Static, User: "u", Secret: "p"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.env["YDB_CONNECTION_STRING"] == "" {
				if c.env == nil {
					c.env = map[string]string{}
				}
				c.env["YDB_CONNECTION_STRING"] = "grpc://h:1/local"
			}
			config, err := parse(t, c.env)
			require.NoError(t, err)
			require.Equal(t, c.want, config.Credentials)
			options, err := config.Credentials.options()
			require.NoError(t, err)
			require.NotEmpty(t, options)
		})
	}
	_, err := Credentials{Kind: "guess"}.options()
	require.ErrorContains(t, err, "unknown")
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	config := Config{Endpoint: "grpc://" + address, Database: "/local", DialTimeout: 200 * time.Millisecond}
	_, err = Open(t.Context(), config)
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "cannot reach the database: grpc://"+address+"/local did not answer within 200ms")

	config.RootCAFile = filepath.Join(t.TempDir(), "missing.pem")
	_, err = Open(t.Context(), config)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "YDB_SSL_ROOT_CERTIFICATES_FILE")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	config.RootCAFile = ""
	_, err = Open(ctx, config)
	require.ErrorIs(t, err, context.Canceled)

	_, err = Open(t.Context(), Config{PoolSize: -1, DialTimeout: -1})
	for _, text := range []string{"endpoint is missing", "database is missing", "pool size -1", "dial timeout"} {
		require.ErrorContains(t, err, text)
	}
}

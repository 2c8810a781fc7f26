package credential

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func environment(values ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(values); i += 2 {
			if values[i] == name {
				return values[i+1], true
			}
		}
		return "", false
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("s3cret-file\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "token"), []byte("s3cret-sub"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lines"), []byte("a\nb"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "long"), []byte(strings.Repeat("x", maxFile+1)), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outside")))
	require.NoError(t, os.Symlink("token", filepath.Join(dir, "inside")))
	return dir
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func TestAReferenceNamesASecret(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	grant := func(ref string) string { return "ref=" + ref + ",provider=http,in=sign,url=https://x.example/" }
	s, err := New(dir, []string{grant("env:TOKEN"), grant("file:token"), grant("file:sub/token"), grant("file:inside")},
		environment("TOKEN", "s3cret-env", "OTHER", "s3cret-other"))
	require.NoError(t, err)
	to := parse(t, "https://x.example/hook")
	for ref, want := range map[string]string{
		"env:TOKEN": "s3cret-env", "file:token": "s3cret-file", "file:./sub/../token": "s3cret-file", "file:" + dir + "/token": "s3cret-file",
		"file:sub/token": "s3cret-sub", "file:inside": "s3cret-file",
	} {
		got, err := s.Secret(ref, "http", "sign", to)
		require.NoError(t, err, ref)
		require.Equal(t, want, got, ref)
	}
	for _, ref := range []string{"env:OTHER", "env:PATH", "file:outside", "file:../token", "file:/etc/passwd", "TOKEN", "", "env:", "file:", "http:x"} {
		_, err := s.Secret(ref, "http", "sign", to)
		require.ErrorIs(t, err, ErrNotGranted, ref)
		require.NotContains(t, err.Error(), "s3cret")
	}
	var none *Set
	_, err = none.Secret("env:TOKEN", "http", "sign", to)
	require.ErrorIs(t, err, ErrNotGranted)
}

func TestAFileIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, err := New(dir, []string{"ref=file:token,provider=http,in=sign,url=https://x.example/"}, environment())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("rotated"), 0o600))
	to := parse(t, "https://x.example/")
	got, err := s.Secret("file:token", "http", "sign", to)
	require.NoError(t, err)
	require.Equal(t, "rotated", got)
	require.NoError(t, os.Remove(filepath.Join(dir, "token")))
	_, err = s.Secret("file:token", "http", "sign", to)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotGranted)
}

func TestReadOfASetting(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for ref, want := range map[string]string{"env:T": "x", "file:" + dir + "/token": "s3cret-file"} {
		got, err := Read(ref, "", environment("T", "x"))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := Read("token", "", environment())
	require.Error(t, err)
}

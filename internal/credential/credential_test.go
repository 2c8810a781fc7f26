package credential

import (
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

func TestASecretGoesWhereItWasGranted(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, err := New(dir, []string{
		"env:TOKEN=gitlab.example.com,*.ci.example", "file:token=jenkins.example.com", "file:sub/token=*", "file:inside=x.example",
	}, environment("TOKEN", "s3cret-env", "OTHER", "s3cret-other"))
	require.NoError(t, err)
	for _, c := range []struct{ ref, host, want string }{
		{"env:TOKEN", "gitlab.example.com", "s3cret-env"},
		{"env:TOKEN", "GitLab.example.com.", "s3cret-env"},
		{"env:TOKEN", "a.ci.example", "s3cret-env"},
		{"file:token", "jenkins.example.com", "s3cret-file"},
		{"file:./sub/../token", "jenkins.example.com", "s3cret-file"},
		{"file:" + dir + "/token", "jenkins.example.com", "s3cret-file"},
		{"file:sub/token", "anywhere.example", "s3cret-sub"},
		{"file:inside", "x.example", "s3cret-file"},
	} {
		got, err := s.Secret(c.ref, c.host)
		require.NoError(t, err, c.ref)
		require.Equal(t, c.want, got, c.ref)
	}
	for _, c := range []struct{ ref, host string }{
		{"env:TOKEN", "evil.example"}, {"env:TOKEN", "gitlab.example.com.evil.example"}, {"env:OTHER", "gitlab.example.com"},
		{"env:PATH", "gitlab.example.com"}, {"file:outside", "x.example"}, {"file:../token", "x.example"},
		{"file:/etc/passwd", "x.example"}, {"TOKEN", "x.example"}, {"", "x.example"}, {"env:", "x.example"}, {"file:", "x.example"},
		{"file:token", "evil.example"}, {"http:x", "x.example"},
	} {
		_, err := s.Secret(c.ref, c.host)
		require.ErrorIs(t, err, ErrNotGranted, c.ref)
		require.NotContains(t, err.Error(), "s3cret")
	}
	var none *Set
	_, err = none.Secret("env:TOKEN", "gitlab.example.com")
	require.ErrorIs(t, err, ErrNotGranted)
}

func TestAFileIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, err := New(dir, []string{"file:token=x.example"}, environment())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("rotated"), 0o600))
	got, err := s.Secret("file:token", "x.example")
	require.NoError(t, err)
	require.Equal(t, "rotated", got)
	require.NoError(t, os.Remove(filepath.Join(dir, "token")))
	_, err = s.Secret("file:token", "x.example")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotGranted)
}

func TestGrantsThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for grant, want := range map[string]string{
		"env:TOKEN":              "must be REF=HOST",
		"env:TOKEN=":             "must be REF=HOST",
		"TOKEN=x.example":        "must be env:NAME or file:NAME",
		"env:TOKEN=http://x":     "rule",
		"env:MISSING=x.example":  "is empty or not set",
		"file:missing=x.example": "no such file",
		"file:../x=x.example":    "not inside --credentials-dir",
		"file:/etc/x=x.example":  "not inside --credentials-dir",
		"file:outside=x.example": "escapes",
		"file:sub=x.example":     "is not a file",
		"file:lines=x.example":   "must be one line",
		"file:long=x.example":    "is longer than",
	} {
		_, err := New(dir, []string{grant}, environment("TOKEN", "s3cret"))
		require.ErrorContains(t, err, want, grant)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := New("", []string{"file:x=x.example"}, environment())
	require.ErrorContains(t, err, "there is no --credentials-dir")
	_, err = New("", []string{"env:T=a.example", "env:T=b.example"}, environment("T", "x"))
	require.ErrorContains(t, err, "granted twice")
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

func TestScrub(t *testing.T) {
	t.Parallel()
	const secret = `p&s "w"/d`
	for _, text := range []string{
		secret, "p%26s+%22w%22%2Fd", "p&s%20%22w%22%2Fd", `p\u0026s \"w\"/d`, "cCZzICJ3Ii9k",
	} {
		require.Equal(t, "a [secret] b", Scrub("a "+text+" b", secret, ""), text)
	}
}

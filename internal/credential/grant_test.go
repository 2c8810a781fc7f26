package credential

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAGrantIsForOneUse(t *testing.T) {
	t.Parallel()
	s, err := New("", []string{
		"ref=env:A,provider=gitlab,in=token,url=https://git.example/api/v4/projects/group%2Fapp/",
		"ref=env:A,provider=gitlab,in=token,url=Git.Example.:8443/",
		"ref=env:B,provider=generic,in=header:authorization,url=http://ci.internal:8080/start",
		"url=https://h.example/,in=body:/a~1b/0,provider=generic,ref=env:C",
		"ref=env:D,provider=http,in=sign,url=https://[2001:DB8::1]/in",
	}, environment("A", "a", "B", "b", "C", "c", "D", "d"))
	require.NoError(t, err)
	for _, c := range []struct{ ref, provider, in, to, refused string }{
		{"env:A", "gitlab", "token", "https://git.example/api/v4/projects/group%2Fapp/trigger/pipeline", ""},
		{"env:A", "gitlab", "token", "https://GIT.example.:443/api/v4/projects/group%2fapp", ""},
		{"env:A", "gitlab", "token", "https://git.example:8443/any/thing?x=1", ""},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/x", ""},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/%73tart", ""},
		{"env:C", "generic", "body:/a~1b/0", "https://h.example/..a/a..b/...x;y=1", ""},
		{"env:D", "http", "sign", "https://[2001:db8:0::1]/in?next=/../", ""},

		{"env:A", "jenkins", "token", "https://git.example:8443/", `provider "jenkins": it is granted for gitlab`},
		{"env:B", "generic", "header:X-Echo", "http://ci.internal:8080/start", `in "header:X-Echo": it is granted for header:Authorization`},
		{"env:B", "generic", "body:", "http://ci.internal:8080/start", `in "body:"`},
		{"env:C", "generic", "body:/a/b/0", "https://h.example/", `in "body:/a/b/0"`},
		{"env:A", "gitlab", "token", "http://git.example/api/v4/projects/group%2Fapp", `url "http://git.example:80/api`},
		{"env:A", "gitlab", "token", "https://git.example:444/api/v4/projects/group%2Fapp", `url "https://git.example:444/api`},
		{"env:A", "gitlab", "token", "https://git.example.evil.example/api/v4/projects/group%2Fapp", "url "},
		{"env:A", "gitlab", "token", "https://sub.git.example:8443/", "url "},
		{"env:A", "gitlab", "token", "https://git.example/api/v4/projects/group%2Fapp2", "url "},
		{"env:A", "gitlab", "token", "https://git.example/api/v4/projects/group/app", "url "},
		{"env:A", "gitlab", "token", "https://git.example/api/v4/projects", "url "},
		{"env:B", "generic", "header:Authorization", "https://ci.internal:8080/start", "url "},
		{"env:B", "generic", "header:Authorization", "http://ci.internal/start", "url "},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/started", "url "},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/Start", "url "},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start%2Fx", "url "},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/../echo", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/%2e%2e/echo", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/.%2E/echo", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/..;x=1/echo", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/..%2fecho", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/x%2f..%2f..%2fecho", "segment of dots"},
		{"env:B", "generic", "header:Authorization", `http://ci.internal:8080/start/..\echo`, "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/..%5cecho", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/%2e%2e%20/echo", "segment of dots"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/%252e%252e/echo", "encoded twice"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/%25u002e%25u002e/echo", "encoded twice"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start//x", "empty segment"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080//start", "empty segment"},
		{"env:B", "generic", "header:Authorization", "http://ci.internal:8080/start/a%00b", "control character"},
		{"env:B", "generic", "header:Authorization", "http://0x7f.1/start", "url: "},
		{"env:B", "generic", "header:Authorization", "ftp://ci.internal:8080/start", "url: "},
		{"env:E", "generic", "header:Authorization", "http://ci.internal:8080/start", "the worker has --credential for"},
	} {
		got, err := s.Secret(c.ref, c.provider, c.in, parse(t, c.to))
		if c.refused == "" {
			require.NoError(t, err, c.to)
			require.Equal(t, strings.ToLower(c.ref[4:]), got)
			continue
		}
		require.ErrorIs(t, err, ErrNotGranted, c.to)
		require.ErrorContains(t, err, c.refused, c.to)
	}
}

func TestGrantsThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	valid := func(ref string) string { return "ref=" + ref + ",provider=http,in=sign,url=https://x.example/" }
	for grant, want := range map[string]string{
		"env:TOKEN=gitlab.example.com":     "names only hosts is not read any more",
		"file:token=a.example,*.b.example": "write it as ref=env:CI_TOKEN,provider=generic,in=header:Authorization,url=https://ci.example.com/start",
		"":                                 `field ""`,
		"ref=env:TOKEN,host=x":             `field "host": must be ref, provider, in or url`,
		"ref=env:TOKEN,ref=env:B":          "ref: must stand once",
		"ref=":                             "ref: must stand once and not be empty",
		"ref=env:TOKEN,provider=http":      `credential "env:TOKEN": in is missing`,
		"ref=env:TOKEN,provider=travis,in=token,url=https://h/":          `provider "travis": must be one of generic, github_dispatch`,
		"ref=env:TOKEN,provider=gitlab,in=header:A,url=https://h/":       `in "header:A": gitlab takes token`,
		"ref=env:TOKEN,provider=gitlab,in=token:x,url=https://h/":        `in "token:x"`,
		"ref=env:TOKEN,provider=generic,in=header:,url=https://h/":       "generic takes header:NAME, form:NAME, body:/JSON/POINTER",
		"ref=env:TOKEN,provider=generic,in=header,url=https://h/":        `in "header"`,
		"ref=env:TOKEN,provider=generic,in=body:a,url=https://h/":        `in "body:a"`,
		"ref=env:TOKEN,provider=http,in=sign,url=https://h":              `url "https://h": has no path: write https://h/ for all of this host`,
		"ref=env:TOKEN,provider=http,in=sign,url=ftp://h/":               "must be http or https",
		"ref=env:TOKEN,provider=http,in=sign,url=https://u:p@h/":         "neither user nor query",
		"ref=env:TOKEN,provider=http,in=sign,url=https://h/?x":           "neither user nor query",
		"ref=env:TOKEN,provider=http,in=sign,url=https://h/a/../b":       "segment of dots",
		"ref=env:TOKEN,provider=http,in=sign,url=https://h:0/":           `port "0"`,
		"ref=env:TOKEN,provider=http,in=sign,url=https://*/":             "is not a name",
		"ref=env:TOKEN,provider=http,in=sign,url=https://*.example.com/": "is not a name",
		"ref=env:TOKEN,provider=http,in=sign,url=https://h b/":           "url: must be as",
		valid("TOKEN"):        "must be env:NAME or file:NAME",
		valid("env:MISSING"):  "is empty or not set",
		valid("file:missing"): "no such file",
		valid("file:../x"):    "not inside --credentials-dir",
		valid("file:/etc/x"):  "not inside --credentials-dir",
		valid("file:outside"): "escapes",
		valid("file:sub"):     "is not a file",
		valid("file:lines"):   "must be one line",
		valid("file:long"):    "is longer than",
	} {
		_, err := New(dir, []string{grant}, environment("TOKEN", "s3cret"))
		require.ErrorContains(t, err, want, grant)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := New("", []string{valid("file:x")}, environment())
	require.ErrorContains(t, err, "there is no --credentials-dir")
}

// FuzzGrant: what a grant covers, plainly read, lies below its own URL.
func FuzzGrant(f *testing.F) {
	f.Add(Example, "https://ci.example.com/start/x")
	f.Add("ref=env:T,provider=http,in=sign,url=h/a%2Fb", "https://h/a%2Fb/..;/c")
	f.Add("ref=env:T,provider=generic,in=body:,url=http://[::1]:80/", "http://[::1]/%252e")
	f.Fuzz(func(t *testing.T, text, request string) {
		_, g, err := parseGrant(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "credential") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, path, err := prefix(g.url()); err != nil || again != g.origin || strings.Join(path, "\x00") != strings.Join(g.path, "\x00") {
			t.Errorf("%q gives %q, which gives %q %q, %v", text, g.url(), again, path, err)
		}
		to, err := url.Parse(request)
		if err != nil || refusal([]grant{g}, g.provider, g.in, to) != nil {
			return
		}
		clean := to.JoinPath().Path
		if below := "/" + strings.Join(g.path, "/"); clean != below && !strings.HasPrefix(clean, strings.TrimSuffix(below, "/")+"/") && clean != "" {
			t.Errorf("%q covers %q, which leads to %q", text, request, clean)
		}
	})
}

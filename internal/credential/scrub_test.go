package credential

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text[1 : len(text)-1])
}

// forms are ways in which a server may send a text back.
var forms = map[string]func(string) string{
	"plain":           func(s string) string { return s },
	"query":           url.QueryEscape,
	"path":            url.PathEscape,
	"percent":         func(s string) string { return percentAll(s, "%%%02x") },
	"PERCENT":         func(s string) string { return percentAll(s, "%%%02X") },
	"JSON":            quoted,
	"JSON, all":       func(s string) string { return percentAll(s, `\u%04x`) },
	"JSON in JSON":    func(s string) string { return quoted(quoted(s)) },
	"JSON in a query": func(s string) string { return url.QueryEscape(quoted(s)) },
	"Go":              func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) },
	"HTML":            html.EscapeString,
	"hex":             func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":             func(s string) string { return fmt.Sprintf("%X", s) },
	"UTF-16":          func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") },
	"base64":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 raw":      func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 url":      func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 raw url":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 +1":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "y")) },
	"base64 +2":       func(s string) string { return base64.URLEncoding.EncodeToString([]byte("xx" + s + "yy")) },
	"base64 query":    func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("u:" + s))) },
	"base64 wrapped": func(s string) string {
		text := base64.StdEncoding.EncodeToString([]byte(s))
		return text[:len(text)/2] + "\r\n" + text[len(text)/2:]
	},
}

// percentAll writes every character of ASCII by its code.
func percentAll(s, format string) string {
	var out strings.Builder
	for _, r := range s {
		if r >= 0x80 {
			out.WriteRune(r)
			continue
		}
		fmt.Fprintf(&out, format, r)
	}
	return out.String()
}

var samples = []string{`p&s "w"/d`, "abcdefgh", "ghp_0123456789+/=", "a%41b\\u0041+c", "пароль-ключ", "<s>&amp;'", "aaaaaaaa", "user:p w"}

func TestASecretIsFoundInEveryForm(t *testing.T) {
	t.Parallel()
	for _, secret := range samples {
		for name, form := range forms {
			text := form(secret)
			for _, around := range []string{"a %s b", "%s", `{"error":"%s"}`, "%%%s&", "%s%s"} {
				sent := strings.ReplaceAll(around, "%s", text)
				got := Scrub(sent, "other", secret, "")
				require.Contains(t, got, hidden, "%s %q", name, sent)
				require.False(t, readable(got, secret), "%s: %q gives %q", name, sent, got)
			}
		}
	}
	require.Equal(t, "a [secret] b [secret].", Scrub("a s3cret b czNjcmV0.", "s3cret"))
	require.Equal(t, "[secret]!", Scrub("abcdefxyz!", "abcdef", "defxyz"), "secrets that overlap")
	require.Equal(t, "[secret]!", Scrub("abcabcabc!", "abcabc"), "one that overlaps itself")
	require.Equal(t, "nothing & here%4", Scrub("nothing & here%4", "s3cret"))
	require.Equal(t, "text", Scrub("text"))
}

// readable reports whether any piece of a secret that is half of it or more can be
// read in a text, plain or in a form.
func readable(text, secret string) bool {
	text = strings.ReplaceAll(text, hidden, "\x01")
	for _, form := range forms {
		if strings.Contains(text, form(secret)) {
			return true
		}
	}
	half := []rune(secret)[:len([]rune(secret))/2+1]
	return strings.Contains(text, string(half))
}

// TestAnAnswerThatIsCutHoldsNoHalf cuts an answer at every byte of a secret.
func TestAnAnswerThatIsCutHoldsNoHalf(t *testing.T) {
	t.Parallel()
	for _, secret := range samples {
		for name, form := range forms {
			text := "token " + form(secret)
			for cut := len("token ") + 1; cut <= len(text); cut++ {
				got := ScrubStart(text[:cut], secret)
				rest := strings.TrimPrefix(got, "token ")
				// What stands beside the secret in base64 stays, and an escape that is cut.
				require.LessOrEqual(t, len(strings.ReplaceAll(rest, hidden, "")), 7, "%s: %q gives %q", name, text[:cut], got)
			}
		}
	}
	require.Equal(t, "a [secret]", ScrubStart("a s3c", "s3cret"))
	require.Equal(t, "a s3c", Scrub("a s3c", "s3cret"))
}

func FuzzScrub(f *testing.F) {
	names := make([]string, 0, len(forms))
	for name := range forms {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range names {
		f.Add("before ", samples[i%len(samples)], " after", i)
	}
	f.Fuzz(func(t *testing.T, before, secret, after string, i int) {
		if len(secret) < 6 || strings.ContainsAny(secret, "\r\n\x00") || len(before)+len(secret)+len(after) > 4096 || i < 0 {
			return
		}
		sent := before + forms[names[i%len(names)]](secret) + after
		got := Scrub(sent, secret)
		if !strings.Contains(hidden, secret) && strings.Contains(strings.ReplaceAll(got, hidden, "\x00"), secret) {
			t.Errorf("%s: %q gives %q", names[i%len(names)], sent, got)
		}
		_ = ScrubStart(sent[:len(sent)/2], secret)
	})
}

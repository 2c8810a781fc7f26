package credential

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/taskfleet/taskfleet/internal/outbound"
)

// Example is a grant in its written form.
const Example = "ref=env:CI_TOKEN,provider=generic,in=header:Authorization,url=https://ci.example.com/start"

// places are the parts of a request that a provider may put a secret into. The
// names that end with a colon go on: header:NAME, form:NAME, and body:POINTER, a
// JSON pointer.
var places = map[string][]string{
	"http":            {"sign"},
	"gitlab":          {"token"},
	"github_dispatch": {"token"},
	"github_workflow": {"token"},
	"jenkins":         {"token", "trigger_token"},
	"generic":         {"header:", "form:", "body:"},
}

// Providers returns the providers that a grant may name.
func Providers() []string { return slices.Sorted(maps.Keys(places)) }

// grant is one use of a secret: by one provider, at one place, below one URL.
type grant struct {
	provider, in string
	origin       string
	path         []string // decoded segments
}

func (g grant) url() string {
	escaped := make([]string, len(g.path))
	for i, segment := range g.path {
		escaped[i] = url.PathEscape(segment)
	}
	return g.origin + "/" + strings.Join(escaped, "/")
}

// parseGrant reads the form of Example, its fields in any order. Its error names
// the field that is wrong.
func parseGrant(text string) (ref string, g grant, err error) {
	fields := map[string]string{}
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case strings.HasPrefix(name, "env:"), strings.HasPrefix(name, "file:"):
			return "", grant{}, fmt.Errorf("credential %q: a grant that names only hosts is not read any more, it let every task that reaches them use the secret anywhere: write it as %s", name, Example)
		case name != "ref" && name != "provider" && name != "in" && name != "url":
			return "", grant{}, fmt.Errorf("credential: field %.40q: must be ref, provider, in or url, as in %s", name, Example)
		case value == "" || fields[name] != "":
			return "", grant{}, fmt.Errorf("credential: %s: must stand once and not be empty", name)
		}
		fields[name] = value
	}
	for _, name := range []string{"ref", "provider", "in", "url"} {
		if fields[name] == "" {
			return "", grant{}, fmt.Errorf("credential %q: %s is missing, as in %s", fields["ref"], name, Example)
		}
	}
	ref, g.provider = fields["ref"], fields["provider"]
	if g.in, err = place(g.provider, fields["in"]); err == nil {
		g.origin, g.path, err = prefix(fields["url"])
	}
	if err != nil {
		return "", grant{}, fmt.Errorf("credential %q: %w", ref, err)
	}
	return ref, g, nil
}

// place checks in, and brings it into the form that it is compared in.
func place(provider, in string) (string, error) {
	known, ok := places[provider]
	if !ok {
		return "", fmt.Errorf("provider %.40q: must be one of %s", provider, strings.Join(Providers(), ", "))
	}
	kind, name, named := strings.Cut(in, ":")
	if named {
		kind += ":"
	}
	if !slices.Contains(known, kind) || name == "" && named && kind != "body:" || kind == "body:" && name != "" && name[0] != '/' {
		return "", fmt.Errorf("in %.80q: %s takes %s", in, provider, strings.NewReplacer("header:", "header:NAME", "form:", "form:NAME", "body:", "body:/JSON/POINTER").Replace(strings.Join(known, ", ")))
	}
	if kind == "header:" {
		name = http.CanonicalHeaderKey(name)
	}
	return kind + name, nil
}

// prefix reads the URL of a grant; without a scheme it is https.
func prefix(text string) (origin string, path []string, err error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", nil, errors.New("url: must be as https://host/path")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", nil, errors.New("url: must have neither user nor query nor fragment")
	case u.Path == "":
		return "", nil, fmt.Errorf("url %q: has no path: write %s/ for all of this host", text, text)
	}
	if origin, err = outbound.Origin(u); err == nil {
		path, err = segments(u)
	}
	if err != nil {
		return "", nil, fmt.Errorf("url %q: %w", text, err)
	}
	return origin, path, nil
}

// segments returns the decoded segments of a path. It refuses paths that lead
// elsewhere, or that servers read in different ways: with dot segments, plain or
// encoded or in front of a path parameter, empty segments, encoding that is
// encoded again, and control characters. An encoded slash is a character of its
// segment.
func segments(u *url.URL) ([]string, error) {
	path := u.EscapedPath()
	if strings.Contains(path, "//") {
		return nil, errors.New("the path holds an empty segment")
	}
	if path = strings.Trim(path, "/"); path == "" {
		return nil, nil
	}
	parts := strings.Split(path, "/")
	for i, raw := range parts {
		decoded, err := url.PathUnescape(raw)
		if err != nil || strings.Contains(decoded, "%") {
			return nil, errors.New("the path is encoded twice")
		}
		for _, piece := range strings.FieldsFunc(decoded, func(r rune) bool { return strings.ContainsRune(`/\;`, r) }) {
			if strings.Trim(piece, ". ") == "" {
				return nil, errors.New("the path holds a segment of dots")
			}
		}
		if strings.ContainsFunc(decoded, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, errors.New("the path holds a control character")
		}
		parts[i] = decoded
	}
	return parts, nil
}

// refusal says why none of a secret's grants covers a use; it is nil when one
// does. It names the first field that no grant agrees with.
func refusal(grants []grant, provider, in string, to *url.URL) error {
	origin, err := outbound.Origin(to)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	path, err := segments(to)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	narrow := func(field, used string, agrees func(grant) bool, granted func(grant) string) error {
		var left []grant
		var others []string
		for _, g := range grants {
			if agrees(g) {
				left = append(left, g)
			}
			others = append(others, granted(g))
		}
		grants = left
		if len(left) == 0 {
			slices.Sort(others)
			return fmt.Errorf("%s %.200q: it is granted for %s", field, used, strings.Join(slices.Compact(others), ", "))
		}
		return nil
	}
	if err := narrow("provider", provider, func(g grant) bool { return g.provider == provider }, func(g grant) string { return g.provider }); err != nil {
		return err
	}
	if err := narrow("in", in, func(g grant) bool { return g.in == in }, func(g grant) string { return g.in }); err != nil {
		return err
	}
	where := origin + to.EscapedPath()
	return narrow("url", where, func(g grant) bool {
		return g.origin == origin && len(path) >= len(g.path) && slices.Equal(path[:len(g.path)], g.path)
	}, grant.url)
}

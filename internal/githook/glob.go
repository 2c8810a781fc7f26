package githook

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// globs are patterns of which one must fit; none at all fits everything. In a
// file they are one text or a list. "*" stands for anything without "/", "**" for
// anything, "?" for one character that is not "/".
type globs struct{ all []*regexp.Regexp }

// maxGlob bounds a pattern, in bytes.
const maxGlob = 512

// UnmarshalYAML reads a text or a list of texts.
func (g *globs) UnmarshalYAML(node *yaml.Node) error {
	var texts []string
	if node.Kind == yaml.ScalarNode {
		texts = []string{node.Value}
	} else if err := node.Decode(&texts); err != nil {
		return fmt.Errorf("line %d: must be a pattern or a list of patterns", node.Line)
	}
	for _, text := range texts {
		if text == "" || len(text) > maxGlob {
			return fmt.Errorf("line %d: a pattern must have 1..%d bytes", node.Line, maxGlob)
		}
		g.all = append(g.all, glob(text))
	}
	return nil
}

// glob compiles a pattern. It matches in linear time.
func glob(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "**"):
			b.WriteString(`.*`)
			i++
		case text[i] == '*':
			b.WriteString(`[^/]*`)
		case text[i] == '?':
			b.WriteString(`[^/]`)
		default:
			end := i + 1
			for end < len(text) && text[end] != '*' && text[end] != '?' {
				end++
			}
			b.WriteString(regexp.QuoteMeta(text[i:end]))
			i = end - 1
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

func (g *globs) given() bool { return len(g.all) > 0 }

// fits tells whether a pattern fits, or there is none.
func (g *globs) fits(text string) bool { return !g.given() || g.hits(text) }

// hits tells whether a pattern fits.
func (g *globs) hits(text string) bool {
	for _, one := range g.all {
		if one.MatchString(text) {
			return true
		}
	}
	return false
}

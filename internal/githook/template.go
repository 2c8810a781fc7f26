package githook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// template is a payload with fields of the event in it: "${branch}" in a text is
// the branch; "${all}" alone is the whole event, an object. "$$" is one "$".
//
// Fields are other people's text, and a handler may have placeholders of its own,
// for credentials even. So a "${" that comes from a field, wholly or in part, is
// taken apart: "$ {".
type template struct{ tree any }

// field is one of a template's names, or an escaped or a stray "$".
var field = regexp.MustCompile(`\$\$|\$\{[a-z_]*\}|\$`)

const wholeEvent = "all"

// names are the fields of an event by their names in JSON.
func names(e *Event) map[string]any {
	return map[string]any{
		"service": e.Service, "host": e.Host, "delivery": e.Delivery, "event": e.Event, "action": e.Action,
		"repository": e.Repository, "url": e.URL, "clone_url": e.CloneURL, "sender": e.Sender,
		"ref": e.Ref, "branch": e.Branch, "tag": e.Tag, "before": e.Before, "after": e.After,
		"number": e.Number, "title": e.Title, "source_branch": e.SourceBranch, "page_url": e.PageURL,
		wholeEvent: e,
	}
}

// UnmarshalYAML reads any tree and checks its fields.
func (t *template) UnmarshalYAML(node *yaml.Node) error {
	if err := node.Decode(&t.tree); err != nil {
		return err
	}
	if err := checkTree(t.tree); err != nil {
		return fmt.Errorf("line %d: payload: %w", node.Line, err)
	}
	return nil
}

// checkTree refuses what has no JSON, and fields that an event does not have.
func checkTree(tree any) error {
	known := names(&Event{})
	_, err := walk(tree, func(text string) (any, error) {
		for _, found := range field.FindAllString(text, -1) {
			name := strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}")
			switch {
			case found == "$$":
			case found == "$":
				return nil, fmt.Errorf(`%q: a "$" that begins no field is written "$$"`, text)
			case name == wholeEvent && text != found:
				return nil, fmt.Errorf("%q: ${%s} must stand alone", text, wholeEvent)
			case known[name] == nil:
				return nil, fmt.Errorf("%q: there is no field %q; there are %s", text, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			}
		}
		return text, nil
	})
	return err
}

// render returns the JSON of the payload; no template is the event itself.
func (t *template) render(e *Event) ([]byte, error) {
	if t == nil {
		return json.Marshal(e)
	}
	values := names(e)
	whole, wholeSize, err := defused(e)
	if err != nil {
		return nil, err
	}
	size := 0
	tree, err := walk(t.tree, func(text string) (filled any, err error) {
		if text == "${"+wholeEvent+"}" {
			filled = whole
			size += wholeSize
		} else {
			text = fill(text, values)
			filled = text
			size += len(text)
		}
		if size > task.MaxPayload {
			return nil, fmt.Errorf("payload of more than %d bytes", task.MaxPayload)
		}
		return filled, nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// fill replaces the fields in a text. It stops when there is more than a payload
// may have.
func fill(text string, values map[string]any) string {
	var out strings.Builder
	add := func(piece string, foreign bool) {
		if foreign {
			piece = strings.ReplaceAll(piece, "${", "$ {")
		}
		if strings.HasSuffix(out.String(), "$") && strings.HasPrefix(piece, "{") {
			out.WriteByte(' ')
		}
		out.WriteString(piece)
	}
	for text != "" && out.Len() <= task.MaxPayload {
		at := field.FindStringIndex(text)
		if at == nil {
			add(text, false)
			break
		}
		found := text[at[0]:at[1]]
		add(text[:at[0]], false)
		text = text[at[1]:]
		switch {
		case found != "$$":
			add(fmt.Sprint(values[found[2:len(found)-1]]), true)
		case strings.HasPrefix(text, "{"): // a handler's placeholder, written "$${name}"
			out.WriteString("${")
			text = text[1:]
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

// defused is an event as a tree, without a "${" in it, and the size of its JSON.
func defused(e *Event) (any, int, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, 0, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, 0, err
	}
	for name, value := range tree {
		if text, ok := value.(string); ok {
			tree[name] = strings.ReplaceAll(text, "${", "$ {")
		}
	}
	return tree, len(text), nil
}

// walk copies a tree of YAML with every text replaced.
func walk(tree any, replace func(string) (any, error)) (any, error) {
	switch v := tree.(type) {
	case nil, bool, int, int64, uint64, float64:
		return v, nil
	case string:
		return replace(v)
	case time.Time:
		return nil, fmt.Errorf("%s: write times as texts, in quotes", v.Format(time.DateOnly))
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = walk(v[i], replace); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for name := range v {
			var err error
			if object[name], err = walk(v[name], replace); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return nil, errors.New("the names of an object must be texts")
}

// duration reads "1m30s".
type duration time.Duration

// UnmarshalYAML reads a duration with its unit.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf(`line %d: %q: must be a duration such as "1m30s"`, node.Line, node.Value)
	}
	*d = duration(parsed)
	return nil
}

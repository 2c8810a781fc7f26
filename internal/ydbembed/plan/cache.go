package plan

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// Cache keeps compiled texts by text, parameter types and catalog version, and
// parsed texts by text. It is bounded in entries and in bytes, and safe for
// concurrent use.
type Cache struct {
	mu      sync.Mutex
	queries lru[*Query]
	texts   lru[*yql.Query]
}

// NewCache returns a cache of at most size plans, 0 means 1000, that take at
// most limits.Plans bytes.
func NewCache(size int) *Cache {
	if size <= 0 {
		size = 1000
	}
	c := &Cache{}
	c.queries.init(size, limits.Plans/2)
	c.texts.init(size, limits.Plans/2)
	return c
}

// Bytes returns what the cache keeps, estimated.
func (c *Cache) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queries.bytes + c.texts.bytes
}

// Compile parses and plans a text, or returns the plan that it made before;
// hit tells which. Its errors are *issue.Error.
func (c *Cache) Compile(text string, env Env) (q *Query, hit bool, err error) {
	if err := checkText(text); err != nil {
		return nil, false, err
	}
	if _, ok := typesSize(env.Params); !ok {
		return nil, false, issue.BadRequest("Type of a parameter has more than %d parts", maxTypeParts)
	}
	key := cacheKey(text, env)
	c.mu.Lock()
	q, ok := c.queries.get(key)
	tree, parsed := c.texts.get(text)
	c.mu.Unlock()
	if ok {
		return q, true, nil
	}
	if !parsed {
		if tree, err = Parse(text); err != nil {
			return nil, false, err
		}
	}
	if q, err = Compile(tree, env); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries.put(key, q, len(key)+q.size)
	c.texts.put(text, tree, len(text)*treeBytes)
	return q, false, nil
}

// treeBytes is what a byte of a text takes when it is parsed, at most.
const treeBytes = 100

// Parse is yql.Parse with the errors of this package.
func Parse(text string) (*yql.Query, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	tree, err := yql.Parse(text)
	if err == nil {
		return tree, nil
	}
	e, ok := err.(*yql.Error)
	switch {
	case !ok:
		return nil, issue.Generic("%s", err)
	case e.Unsupported:
		return nil, issue.Unsupported("%s", e.Message).At(e.Pos.Line, e.Pos.Col)
	}
	return nil, issue.Generic("%s", e.Message).At(e.Pos.Line, e.Pos.Col)
}

func checkText(text string) error {
	if len(text) > limits.Text {
		return issue.TextTooLong(len(text), limits.Text)
	}
	return nil
}

func cacheKey(text string, env Env) string {
	var b strings.Builder
	b.WriteString(strconv.FormatUint(env.Catalog.Version(), 36))
	names := make([]string, 0, len(env.Params))
	for name := range env.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteByte(0)
		b.WriteString(name)
		b.WriteByte(1)
		appendType(&b, env.Params[name])
	}
	b.WriteByte(0)
	b.WriteString(env.Database)
	b.WriteByte(0)
	b.WriteString(text)
	return b.String()
}

// appendType writes a type so that different types never look the same.
func appendType(b *strings.Builder, t *types.Type) {
	b.WriteByte(byte(t.Kind))
	if t.Elem != nil {
		appendType(b, t.Elem)
	}
	if t.Kind != types.Struct && t.Kind != types.Tuple {
		return
	}
	b.WriteString(strconv.Itoa(len(t.Fields)))
	b.WriteByte(';')
	for _, f := range t.Fields {
		b.WriteString(strconv.Itoa(len(f.Name)))
		b.WriteByte(':')
		b.WriteString(f.Name)
		appendType(b, f.Type)
	}
}

// lru is a map that forgets what was not used for the longest time.
type lru[V any] struct {
	size, limit int // entries and bytes, at most
	bytes       int
	items       map[string]*list.Element
	order       *list.List
}

type lruItem[V any] struct {
	key   string
	value V
	bytes int
}

func (l *lru[V]) init(size, limit int) {
	l.size, l.limit, l.items, l.order = size, limit, map[string]*list.Element{}, list.New()
}

func (l *lru[V]) get(key string) (v V, ok bool) {
	e, ok := l.items[key]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruItem[V]).value, true
}

func (l *lru[V]) put(key string, v V, bytes int) {
	if e, ok := l.items[key]; ok {
		l.drop(e)
	}
	l.items[key] = l.order.PushFront(lruItem[V]{key, v, bytes})
	l.bytes += bytes
	for l.order.Len() > l.size || l.bytes > l.limit {
		l.drop(l.order.Back())
	}
}

func (l *lru[V]) drop(e *list.Element) {
	item := l.order.Remove(e).(lruItem[V])
	delete(l.items, item.key)
	l.bytes -= item.bytes
}

package plan

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// Cache keeps compiled texts by text, parameter types and catalog version, and
// parsed texts by text. It is bounded and safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	queries lru[*Query]
	texts   lru[*yql.Query]
}

// NewCache returns a cache of at most size plans; 0 means 1000.
func NewCache(size int) *Cache {
	if size <= 0 {
		size = 1000
	}
	c := &Cache{}
	c.queries.init(size)
	c.texts.init(size)
	return c
}

// Compile parses and plans a text, or returns the plan that it made before;
// hit tells which. Its errors are *issue.Error.
func (c *Cache) Compile(text string, env Env) (q *Query, hit bool, err error) {
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
	c.queries.put(key, q)
	c.texts.put(text, tree)
	return q, false, nil
}

// Parse is yql.Parse with the errors of this package.
func Parse(text string) (*yql.Query, error) {
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
	size  int
	items map[string]*list.Element
	order *list.List
}

type lruItem[V any] struct {
	key   string
	value V
}

func (l *lru[V]) init(size int) {
	l.size, l.items, l.order = size, map[string]*list.Element{}, list.New()
}

func (l *lru[V]) get(key string) (v V, ok bool) {
	e, ok := l.items[key]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruItem[V]).value, true
}

func (l *lru[V]) put(key string, v V) {
	if e, ok := l.items[key]; ok {
		e.Value = lruItem[V]{key, v}
		l.order.MoveToFront(e)
		return
	}
	l.items[key] = l.order.PushFront(lruItem[V]{key, v})
	if l.order.Len() > l.size {
		last := l.order.Back()
		l.order.Remove(last)
		delete(l.items, last.Value.(lruItem[V]).key)
	}
}

package taskstore

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
)

// TestTextsAreShort: YDB documents 10 KB as the limit of a text. The folder is the
// longest that is accepted, in a database with a long path.
func TestTextsAreShort(t *testing.T) {
	t.Parallel()
	folder := strings.Repeat("f", 200)
	require.NoError(t, ydbconn.CheckFolder(folder))
	require.Error(t, ydbconn.CheckFolder(folder+"f"))
	checked := 0
	check := func(name string, text reflect.Value) {
		checked++
		require.LessOrEqual(t, text.Len(), 10_000, name)
	}
	texts := reflect.ValueOf(newTexts("/" + strings.Repeat("d", 100) + "/" + folder))
	for i := range texts.NumField() {
		name, field := texts.Type().Field(i).Name, texts.Field(i)
		switch field.Kind() {
		case reflect.String:
			check(name, field)
		case reflect.Array:
			for i := range field.Len() {
				check(name, field.Index(i))
			}
		case reflect.Map:
			for _, key := range field.MapKeys() {
				check(name, field.MapIndex(key))
			}
		default:
			t.Fatalf("%s holds no texts: %s", name, field.Kind())
		}
	}
	require.Greater(t, checked, 80)
}

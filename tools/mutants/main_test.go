package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	list, err := parse(`# a comment

name: one
file: a/b.go
- x := 1
+
test: ./a -run TestX|TestY -timeout 5s


name: two
file: c.go
-   if  y {
+   if !y {
test: . -run TestZ
`)
	require.NoError(t, err)
	require.Equal(t, []mutant{
		{name: "one", file: "a/b.go", old: "x := 1", pkg: "./a", tests: "TestX|TestY", timeout: "5s"},
		{name: "two", file: "c.go", old: "  if  y {", new: "  if !y {", pkg: ".", tests: "TestZ", timeout: "1m"},
	}, list)
	for text, want := range map[string]string{
		"name: x\nfile: y\n- a\ntest: . -run T": `line 4: the block that ends here has no "+" line`,
		"name: x\nname: y":                      `line 2: a second "name:" line in one block`,
		"nmae: x":                               "line 1 begins with none of name:, file:, -, +, test:",
		"name: x y\nfile: a\n- a\n+ b\ntest: . -run T\n": "line 5: the block that ends here has an empty name, file or text, or a blank or slash in its name",
		"test: . -race": "line 1: must be test: package -run expression [-timeout duration]",
		"name: x\nfile: a\n- \n+ b\ntest: . -run T\n\nname: ": "line 6: the block that ends here has an empty name, file or text, or a blank or slash in its name",
	} {
		_, err := parse(text)
		require.EqualError(t, err, want)
	}
}

// TestVerdicts runs mutants of a small module.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module m\n\ngo 1.26.0\n",
		"add.go":     "package m\n\nfunc add(a, b int) int { return a + b }\n",
		"all.go":     "package m\n\nvar unused, used = 1, 2\n",
		"m_test.go":  "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestRed(t *testing.T) { t.Fatal(used) }\n",
		"m.mutants":  "name: killed\nfile: add.go\n- a + b\n+ a - b\ntest: . -run TestAdd\n",
		"m2.mutants": "name: killed\nfile: add.go\n- a + b\n+ a * b\ntest: . -run TestAdd\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	o := options{jobs: 2}
	require.NoError(t, run(o, []string{"m.mutants"}))
	require.EqualError(t, run(o, []string{"m.mutants", "m2.mutants"}), "m2.mutants: killed is in m.mutants already")
	o.only = "other"
	require.EqualError(t, run(o, []string{"m.mutants"}), "no mutant is chosen")

	for _, c := range []struct{ file, old, new, test, want string }{
		{"add.go", "a + b", "a - b", "TestAdd", ""},
		{"add.go", "a + b", "b + a", "TestAdd", "SURVIVED go test . -run 'TestAdd'"},
		{"add.go", "a + b", "c", "TestAdd", ": undefined: c"},
		{"add.go", "a", "b", "TestAdd", "does not apply: its text stands 5 times in add.go"},
		{"add.go", "a +  b", "b", "TestAdd", "does not apply: its text is not in add.go"},
		{"all.go", "used = 1, 2", "gone = 1, 2", "TestAdd", ": undefined: used"},
		{"add.go", "a + b", "a - b", "TestNone", "do not pass without it: no test runs with go test . -run 'TestNone': testing: warning: no tests to run"},
		{"add.go", "a + b", "a - b", "TestRed", "the tests of . do not pass without it: tests fail: TestRed"},
	} {
		m := mutant{name: "m", file: c.file, old: c.old, new: c.new, pkg: ".", tests: c.test, timeout: "1m"}
		err := newHunt(t.TempDir(), false, []mutant{m}).kill(m)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

// TestTheFirstSurvivorEndsTheHunt, unless all are asked for.
func TestTheFirstSurvivorEndsTheHunt(t *testing.T) {
	t.Parallel()
	mutants := make([]mutant, 20)
	for i := range mutants {
		mutants[i] = mutant{name: "m", file: "none"}
	}
	h := newHunt(t.TempDir(), false, mutants)
	require.Equal(t, 20, h.run(mutants, options{jobs: 2, all: true}))
	require.Less(t, h.run(mutants, options{jobs: 2}), 6)
}

// TestTheListsFollowTheCode: each mutant's text stands in its file, and what it
// makes of it can be parsed. Whether it compiles and is killed is found by running it.
func TestTheListsFollowTheCode(t *testing.T) {
	t.Chdir("../..")
	lists, err := filepath.Glob("tools/mutants/*.mutants")
	require.NoError(t, err)
	mutants, err := readLists(lists)
	require.NoError(t, err)
	require.NotEmpty(t, mutants)
	for _, m := range mutants {
		broken, err := m.apply()
		if assert.NoError(t, err, m.name) {
			_, err = parser.ParseFile(token.NewFileSet(), m.file, broken, parser.SkipObjectResolution)
			assert.NoError(t, err, m.name)
		}
	}
}

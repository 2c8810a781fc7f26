package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	list, err := parse(`# a comment

name: one
file: a/b.go
- x := 1
+
test: ./a -run 'TestX|TestY' -race


name: two
file: c.go
-   if  y {
+   if !y {
test: .
`)
	require.NoError(t, err)
	require.Equal(t, []mutant{
		{name: "one", file: "a/b.go", old: "x := 1", test: []string{"./a", "-run", "TestX|TestY", "-race"}},
		{name: "two", file: "c.go", old: "  if  y {", new: "  if !y {", test: []string{"."}},
	}, list)
	for text, want := range map[string]string{
		"name: x\nfile: y\n- a\ntest: .":               `line 4: the block that ends here has no "+" line`,
		"name: x\nname: y":                             `line 2: a second "name:" line in one block`,
		"nmae: x":                                      "line 1 begins with none of name:, file:, -, +, test:",
		"name: x y\nfile: a\n- a\n+ b\ntest: .\n":      "line 5: the block that ends here has an empty name, file, text or test, or a blank or slash in its name",
		"name: x\nfile: a\n- \n+ b\ntest: .\n\nname: ": "line 6: the block that ends here has an empty name, file, text or test, or a blank or slash in its name",
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
	require.NoError(t, run("", false, []string{"m.mutants"}))
	require.EqualError(t, run("other", false, []string{"m.mutants"}), "no mutant is chosen")
	require.EqualError(t, run("", false, []string{"m.mutants", "m2.mutants"}), "m2.mutants: killed is in m.mutants already")

	h := hunt{dir: t.TempDir(), healthy: map[string]error{}}
	for _, c := range []struct{ file, old, new, test, want string }{
		{"add.go", "a + b", "a - b", "TestAdd", ""},
		{"add.go", "a + b", "b + a", "TestAdd", "SURVIVED go test . -run TestAdd"},
		{"add.go", "a + b", "c", "TestAdd", ": undefined: c"},
		{"add.go", "a", "b", "TestAdd", "does not apply: its text stands 5 times in add.go"},
		{"add.go", "a +  b", "b", "TestAdd", "does not apply: its text is not in add.go"},
		{"all.go", "used = 1, 2", "gone = 1, 2", "TestAdd", ": undefined: used"},
		{"add.go", "a + b", "a - b", "TestNone", "its tests do not pass without it: no test runs with go test . -run TestNone: testing: warning: no tests to run"},
		{"add.go", "a + b", "a - b", "TestRed", "its tests do not pass without it: tests fail"},
	} {
		err := h.kill(mutant{name: "m", file: c.file, old: c.old, new: c.new, test: []string{".", "-run", c.test}})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

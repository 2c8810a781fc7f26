package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// mutant is one way to break one line.
type mutant struct {
	name, file, old, new string
	pkg, tests           string // the package whose tests notice, and which: a regular expression
	timeout              string // of the tests that meet the mutant
}

// readLists reads the mutants of all lists; their names are unique.
func readLists(names []string) ([]mutant, error) {
	var all []mutant
	seen := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, m := range list {
			if other, ok := seen[m.name]; ok {
				return nil, fmt.Errorf("%s: %s is in %s already", name, m.name, other)
			}
			seen[m.name] = name
		}
		all = append(all, list...)
	}
	return all, nil
}

var testLine = regexp.MustCompile(`^(\S+) -run (\S+)(?: -timeout (\S+))?$`)

// parse reads a list.
func parse(text string) ([]mutant, error) {
	var all []mutant
	var m mutant
	given := map[string]bool{} // which lines the block has
	end := func(line int) error {
		if len(given) == 0 {
			return nil
		}
		for _, key := range []string{"name:", "file:", "-", "+", "test:"} {
			if !given[key] {
				return fmt.Errorf("line %d: the block that ends here has no %q line", line, key)
			}
		}
		if m.name == "" || strings.ContainsAny(m.name, " /") || m.file == "" || m.old == "" {
			return fmt.Errorf("line %d: the block that ends here has an empty name, file or text, or a blank or slash in its name", line)
		}
		all = append(all, m)
		m = mutant{}
		clear(given)
		return nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			if err := end(number); err != nil {
				return nil, err
			}
			continue
		case strings.HasPrefix(line, "#"):
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		if given[key] {
			return nil, fmt.Errorf("line %d: a second %q line in one block", number, key)
		}
		given[key] = true
		switch key {
		case "name:":
			m.name = value
		case "file:":
			m.file = value
		case "-":
			m.old = value
		case "+":
			m.new = value
		case "test:":
			fields := testLine.FindStringSubmatch(value)
			if fields == nil {
				return nil, fmt.Errorf("line %d: must be test: package -run expression [-timeout duration]", number)
			}
			m.pkg, m.tests, m.timeout = fields[1], fields[2], cmp.Or(fields[3], "1m")
		default:
			return nil, fmt.Errorf("line %d begins with none of name:, file:, -, +, test:", number)
		}
	}
	return all, end(number)
}

// apply returns the file with the mutant's text in the place of the old.
func (m mutant) apply() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	switch n := bytes.Count(text, []byte(m.old)); n {
	case 1:
		return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
	case 0:
		return nil, errors.New("does not apply: its text is not in " + m.file)
	default:
		return nil, fmt.Errorf("does not apply: its text stands %d times in %s", n, m.file)
	}
}

// Package credential gives out secrets that a task names by reference. A task
// never holds a secret, and a secret is used only as the operator granted it: by
// one provider, at one place of the request, below one URL. Whoever may enqueue a
// task can name a reference, so that without these rules they could have the
// secret sent to themselves.
package credential

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds a file with a secret, in bytes.
const maxFile = 64 << 10

// ErrNotGranted says that a reference is none of those that were granted, or not
// for this use. It stays so until the operator grants it.
var ErrNotGranted = errors.New("credential is not granted")

// Set holds what was granted. It is safe for concurrent use. Its zero value
// grants nothing.
type Set struct {
	dir    string
	lookup func(string) (string, bool)
	grants map[string][]grant // by reference
}

// New reads grants of the form of Example. Its ref is env:NAME or file:NAME, a
// file in dir; several grants may have the same. Every secret must be there now;
// files are read again whenever one is asked for, so that they can be replaced.
func New(dir string, grants []string, lookup func(string) (string, bool)) (*Set, error) {
	s := &Set{dir: dir, lookup: lookup, grants: map[string][]grant{}}
	for _, text := range grants {
		ref, g, err := parseGrant(text)
		if err != nil {
			return nil, err
		}
		name, err := s.canonical(ref)
		if err != nil {
			return nil, err
		}
		if _, err := s.read(name); err != nil {
			return nil, err
		}
		s.grants[name] = append(s.grants[name], g)
	}
	return s, nil
}

// Secret returns the secret that ref names, for a provider that puts it into a
// place of a request to a URL: see Example. An error that is not ErrNotGranted may
// be gone later: a file that is being replaced.
func (s *Set) Secret(ref, provider, in string, to *url.URL) (string, error) {
	if s == nil {
		return "", fmt.Errorf("%w: %.200q", ErrNotGranted, ref)
	}
	name, err := s.canonical(ref)
	if err != nil {
		return "", errors.Join(ErrNotGranted, err)
	}
	grants, ok := s.grants[name]
	if !ok {
		return "", fmt.Errorf("%w: %.200q: the worker has --credential for %v", ErrNotGranted, ref, slices.Sorted(maps.Keys(s.grants)))
	}
	if err := refusal(grants, provider, in, to); err != nil {
		return "", fmt.Errorf("%w: %q: %w", ErrNotGranted, ref, err)
	}
	return s.read(name)
}

// Read returns a secret that a setting names, without a grant. dir may be empty:
// then a file: reference is a path.
func Read(ref, dir string, lookup func(string) (string, bool)) (string, error) {
	if path, ok := strings.CutPrefix(ref, "file:"); ok && dir == "" {
		dir, ref = filepath.Dir(path), "file:"+filepath.Base(path)
	}
	s := &Set{dir: dir, lookup: lookup}
	name, err := s.canonical(ref)
	if err != nil {
		return "", err
	}
	return s.read(name)
}

// canonical checks the form of a reference; a path inside the folder becomes the
// name of a file.
func (s *Set) canonical(ref string) (string, error) {
	scheme, name, _ := strings.Cut(ref, ":")
	switch {
	case scheme == "env" && name != "" && !strings.ContainsAny(name, "= \x00"):
		return ref, nil
	case scheme == "file" && name != "":
		if s.dir == "" {
			return "", fmt.Errorf("credential %.200q: there is no --credentials-dir", ref)
		}
		if filepath.IsAbs(name) {
			inside, err := filepath.Rel(s.dir, filepath.Clean(name))
			if err != nil {
				return "", fmt.Errorf("credential %.200q: is not inside --credentials-dir", ref)
			}
			name = inside
		}
		if !filepath.IsLocal(name) {
			return "", fmt.Errorf("credential %.200q: is not inside --credentials-dir", ref)
		}
		return "file:" + filepath.Clean(name), nil
	}
	return "", fmt.Errorf("credential %.200q: must be env:NAME or file:NAME", ref)
}

// read reads a secret. Its errors name the reference, never what was read.
func (s *Set) read(name string) (string, error) {
	var text string
	if variable, ok := strings.CutPrefix(name, "env:"); ok {
		text, _ = s.lookup(variable)
	} else {
		var err error
		if text, err = s.file(strings.TrimPrefix(name, "file:")); err != nil {
			return "", fmt.Errorf("credential %q: %w", name, err)
		}
	}
	text = strings.TrimRight(text, "\r\n")
	switch {
	case text == "":
		return "", fmt.Errorf("credential %q: is empty or not set", name)
	case strings.ContainsAny(text, "\r\n\x00"):
		return "", fmt.Errorf("credential %q: must be one line", name)
	}
	return text, nil
}

// file reads a file of the folder. Links that lead out of it are not followed.
func (s *Set) file(name string) (string, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(errors.New("is not a file"), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("is longer than %d bytes", maxFile)
	}
	return string(text), err
}

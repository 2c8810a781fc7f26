package githook

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// The events.
const (
	Push         = "push"
	Tag          = "tag"
	MergeRequest = "merge-request" // a pull request is one, too
)

var eventNames = []string{Push, Tag, MergeRequest}

// The actions that every service has, by one name. A merge request may have
// others; they keep the service's name.
const (
	Created  = "created"
	Updated  = "updated" // pushed to; of a merge request: its commits changed
	Deleted  = "deleted"
	Opened   = "opened"
	Reopened = "reopened"
	Closed   = "closed"
	Merged   = "merged"
	Edited   = "edited" // of a merge request: its text, its labels, anything but its commits
)

// Event is what happened in a repository. Its JSON is the payload of a task whose
// rule gives none.
type Event struct {
	Service    string `json:"service"`
	Host       string `json:"host"`
	Delivery   string `json:"delivery"`
	Event      string `json:"event"`
	Action     string `json:"action"`
	Repository string `json:"repository"` // full name, such as group/sub/project
	URL        string `json:"url"`        // of the repository, for people
	CloneURL   string `json:"clone_url"`  // by HTTP
	Sender     string `json:"sender"`     // login name

	// Ref is the whole name, as in refs/heads/main. Of a merge request it is its
	// source branch. Exactly one of Branch and Tag is set; Branch is the target of
	// a merge request.
	Ref    string `json:"ref"`
	Branch string `json:"branch,omitempty"`
	Tag    string `json:"tag,omitempty"`
	// Before and After are commits, "" where there is none: before a branch was
	// made, after it was deleted. After is the newest of a merge request, and Before
	// the newest before it was updated.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	// Of a merge request.
	Number       int64  `json:"number,omitempty"`
	Title        string `json:"title,omitempty"`
	SourceBranch string `json:"source_branch,omitempty"`
	PageURL      string `json:"page_url,omitempty"`
}

// Bounds of what is taken from a payload, in bytes. They are far above what the
// services allow, and keep a task small.
const (
	maxName  = 512 // of repositories and refs, of which a task's key has as many
	maxURL   = 2048
	maxTitle = 1024
)

// ErrPayload is what every error about a payload wraps.
var ErrPayload = errors.New("payload")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPayload, fmt.Sprintf(format, args...))
}

// check refuses an event that lacks what every event has, or that is out of
// bounds.
func (e *Event) check() error {
	var u *url.URL
	err := errors.New("too long")
	if len(e.URL) <= maxURL {
		u, err = url.Parse(e.URL)
	}
	if err != nil || u.Host == "" {
		return bad("the URL of the repository is missing or wrong")
	}
	e.Host = strings.ToLower(u.Host)
	for _, f := range []struct {
		name, value string
		limit       int
		needed      bool
	}{
		{"the full name of the repository", e.Repository, maxName, true},
		{"the ref", e.Ref, maxName, true},
		{"the action", e.Action, 64, true},
		{"the branch", e.Branch, maxName, e.Event != Tag},
		{"the tag", e.Tag, maxName, e.Event == Tag},
		{"the source branch", e.SourceBranch, maxName, e.Event == MergeRequest},
		{"the commit before", e.Before, 64, false},
		{"the commit after", e.After, 64, e.Event == MergeRequest || e.Action != Deleted},
		{"the sender", e.Sender, maxName, false},
		{"the clone URL", e.CloneURL, maxURL, false},
		{"the page's URL", e.PageURL, maxURL, false},
	} {
		switch {
		case f.needed && f.value == "":
			return bad("%s is missing", f.name)
		case len(f.value) > f.limit:
			return bad("%s has %d bytes: must have at most %d", f.name, len(f.value), f.limit)
		case !utf8.ValidString(f.value):
			return bad("%s is not valid UTF-8", f.name)
		}
	}
	if len(e.Title) > maxTitle {
		e.Title = strings.Clone(e.Title[:maxTitle]) // and not the rest behind it
	}
	e.Title = strings.ToValidUTF8(e.Title, "")
	return nil
}

// setRef sets what a pushed ref says.
func (e *Event) setRef(ref string, before, after string) error {
	e.Ref = ref
	e.Before, e.After = commit(before), commit(after)
	switch {
	case strings.HasPrefix(ref, "refs/heads/"):
		e.Event, e.Branch = Push, strings.TrimPrefix(ref, "refs/heads/")
	case strings.HasPrefix(ref, "refs/tags/"):
		e.Event, e.Tag = Tag, strings.TrimPrefix(ref, "refs/tags/")
	case ref == "":
		return bad("field ref is missing")
	default:
		return ignore("ref: neither a branch nor a tag")
	}
	switch {
	case e.Before == "" && e.After == "":
		return bad("neither a commit before nor one after")
	case e.Before == "":
		e.Action = Created
	case e.After == "":
		e.Action = Deleted
	default:
		e.Action = Updated
	}
	return nil
}

// commit is a commit's id, "" for the null id, which all services send for none.
func commit(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// Ignored is the error of a delivery from which nothing follows.
type Ignored struct{ Reason string }

func (i *Ignored) Error() string { return i.Reason }

func ignore(format string, args ...any) error { return &Ignored{fmt.Sprintf(format, args...)} }

// ErrPing is the error of a delivery that only tries the hook out.
var ErrPing = errors.New("ping")

package githook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Rule makes a task of every event that fits all of its patterns.
type Rule struct {
	// Name is part of the ids of the tasks.
	Name string `yaml:"name"`

	Service    globs `yaml:"service"`
	Host       globs `yaml:"host"`
	Repository globs `yaml:"repository"`
	Event      globs `yaml:"event"`
	Action     globs `yaml:"action"`
	// Branch fits events of branches, Tag those of tags. With one of them given, the
	// rule is for those only.
	Branch globs `yaml:"branch"`
	Tag    globs `yaml:"tag"`

	Kind     string    `yaml:"kind"`
	Priority int       `yaml:"priority"`
	Delay    duration  `yaml:"delay"`
	Payload  *template `yaml:"payload"`
}

// maxRuleName bounds a rule's name, so that an id fits a task.
const maxRuleName = 32

func (r *Rule) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(r.Name == "" || len(r.Name) > maxRuleName || strings.ContainsFunc(r.Name, notWord),
		"name %q: must be 1..%d letters, digits, '-' and '_'", r.Name, maxRuleName)
	add(r.Kind == "" || len(r.Kind) > task.MaxKind, "kind of %d bytes: must have 1..%d", len(r.Kind), task.MaxKind)
	add(r.Priority < 0 || r.Priority > 255, "priority %d: must be 0..255", r.Priority)
	add(r.Delay < 0 || time.Duration(r.Delay) > task.MaxDelay, "delay %s: must be 0..%s", time.Duration(r.Delay), task.MaxDelay)
	add(r.Event.given() && !slices.ContainsFunc(eventNames, r.Event.hits), "event: fits none of %s", strings.Join(eventNames, ", "))
	add(r.Service.given() && !slices.ContainsFunc(Services, func(s *Service) bool { return r.Service.hits(s.Name) }),
		"service: fits none of github, gitlab, gitea")
	return errors.Join(errs...)
}

// fits tells whether the rule is for an event.
func (r *Rule) fits(e *Event) bool {
	return r.Service.fits(e.Service) && r.Host.fits(e.Host) && r.Repository.fits(e.Repository) &&
		r.Event.fits(e.Event) && r.Action.fits(e.Action) && r.fitsRef(e)
}

func (r *Rule) fitsRef(e *Event) bool {
	if !r.Branch.given() && !r.Tag.given() {
		return true
	}
	if e.Tag != "" {
		return r.Tag.hits(e.Tag)
	}
	return r.Branch.hits(e.Branch)
}

// task makes the task of an event. Its id is the same whenever the event is
// delivered.
func (r *Rule) task(e *Event) (task.Task, error) {
	payload, err := r.Payload.render(e)
	if err != nil {
		return task.Task{}, err
	}
	t := task.Task{
		ID:           e.Service + "-" + e.Delivery + "-" + r.Name,
		Kind:         r.Kind,
		Payload:      payload,
		Priority:     uint8(r.Priority),
		PartitionKey: e.Repository,
		Delay:        time.Duration(r.Delay),
	}
	return t, t.Validate()
}

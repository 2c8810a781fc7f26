package githook

import "strings"

// hubPayload is what GitHub and Gitea send, as far as it is used. Gitea took the
// form over.
type hubPayload struct {
	Action string `json:"action"`
	Number int64  `json:"number"`
	Ref    string `json:"ref"`
	Before string `json:"before"`
	After  string `json:"after"`

	Repository struct {
		FullName string `json:"full_name"`
		HTMLURL  string `json:"html_url"`
		CloneURL string `json:"clone_url"`
	} `json:"repository"`
	Sender struct {
		Login string `json:"login"`
	} `json:"sender"`

	PullRequest *struct {
		Title   string `json:"title"`
		HTMLURL string `json:"html_url"`
		Merged  bool   `json:"merged"`
		Head    struct {
			Ref string `json:"ref"`
			SHA string `json:"sha"`
		} `json:"head"`
		Base struct {
			Ref string `json:"ref"`
		} `json:"base"`
	} `json:"pull_request"`
}

func (p *hubPayload) event() *Event {
	return &Event{
		Repository: p.Repository.FullName,
		URL:        p.Repository.HTMLURL,
		CloneURL:   p.Repository.CloneURL,
		Sender:     p.Sender.Login,
	}
}

// pushed is the event of a push.
func (p *hubPayload) pushed() (*Event, error) {
	e := p.event()
	return e, e.setRef(p.Ref, p.Before, p.After)
}

// pulled is the event of a pull request. actions are the service's names for ours.
func (p *hubPayload) pulled(actions map[string]string) (*Event, error) {
	pr := p.PullRequest
	if pr == nil {
		return nil, bad("field pull_request is missing")
	}
	e := p.event()
	e.Event, e.Action = MergeRequest, p.Action
	if action, ok := actions[p.Action]; ok {
		e.Action = action
	}
	if e.Action == Closed && pr.Merged {
		e.Action = Merged
	}
	e.Number, e.Title, e.PageURL = p.Number, pr.Title, pr.HTMLURL
	e.Branch, e.SourceBranch, e.Ref = pr.Base.Ref, pr.Head.Ref, "refs/heads/"+pr.Head.Ref
	e.Before, e.After = commit(p.Before), commit(pr.Head.SHA)
	return e, nil
}

// parseGitHub knows push and pull_request. GitHub tells of new and deleted
// branches and tags a second time, as create and delete.
func parseGitHub(event string, body []byte) (*Event, error) {
	var p hubPayload
	switch event {
	case "push", "pull_request":
		if err := decode(body, &p); err != nil {
			return nil, err
		}
	case "ping":
		return nil, ErrPing
	default:
		return nil, unknown(event)
	}
	if event == "push" {
		return p.pushed()
	}
	return p.pulled(map[string]string{"synchronize": Updated})
}

// unknown ignores an event that another one tells, or that nobody knows.
func unknown(event string) error {
	switch event {
	case "create", "delete":
		return ignore("event %s: the push tells it, too", event)
	}
	if len(event) > 64 || strings.ContainsFunc(event, func(r rune) bool { return notWord(r) && r != ' ' }) {
		return ignore("event: unknown")
	}
	return ignore("event %s: only pushes, tags and merge requests make tasks", event)
}

package githook

// labPayload is what GitLab sends, as far as it is used.
type labPayload struct {
	Ref          string `json:"ref"`
	Before       string `json:"before"`
	After        string `json:"after"`
	UserUsername string `json:"user_username"`

	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Project struct {
		PathWithNamespace string `json:"path_with_namespace"`
		WebURL            string `json:"web_url"`
		GitHTTPURL        string `json:"git_http_url"`
	} `json:"project"`
	Attributes struct {
		IID          int64  `json:"iid"`
		Action       string `json:"action"`
		Title        string `json:"title"`
		URL          string `json:"url"`
		SourceBranch string `json:"source_branch"`
		TargetBranch string `json:"target_branch"`
		OldRev       string `json:"oldrev"`
		LastCommit   struct {
			ID string `json:"id"`
		} `json:"last_commit"`
	} `json:"object_attributes"`
}

// labActions are GitLab's names for our actions. It says update for commits and
// for anything else; commits come with the revision before.
var labActions = map[string]string{
	"open": Opened, "reopen": Reopened, "close": Closed, "merge": Merged, "update": Edited,
}

// parseGitLab knows pushes, tag pushes and merge requests, of project, group and
// system hooks. The payload names its event, as the header does; a system hook's
// header does not.
func parseGitLab(event string, body []byte) (*Event, error) {
	var named struct {
		Object string `json:"object_kind"`
		Event  string `json:"event_name"` // of system hooks that have no object
	}
	if err := decode(body, &named); err != nil {
		return nil, err
	}
	kind := named.Object
	if kind == "" {
		kind = named.Event
	}
	switch kind {
	case "push", "tag_push", "merge_request":
	default:
		return nil, unknown(event)
	}
	var p labPayload
	if err := decode(body, &p); err != nil {
		return nil, err
	}
	e := &Event{
		Repository: p.Project.PathWithNamespace,
		URL:        p.Project.WebURL,
		CloneURL:   p.Project.GitHTTPURL,
		Sender:     p.UserUsername,
	}
	if kind != "merge_request" {
		return e, e.setRef(p.Ref, p.Before, p.After)
	}
	a := p.Attributes
	e.Event, e.Action, e.Sender = MergeRequest, a.Action, p.User.Username
	if action, ok := labActions[a.Action]; ok {
		e.Action = action
	}
	if e.Action == Edited && a.OldRev != "" {
		e.Action = Updated
	}
	e.Number, e.Title, e.PageURL = a.IID, a.Title, a.URL
	e.Branch, e.SourceBranch, e.Ref = a.TargetBranch, a.SourceBranch, "refs/heads/"+a.SourceBranch
	e.Before, e.After = a.OldRev, commit(a.LastCommit.ID)
	return e, nil
}

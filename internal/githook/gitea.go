package githook

// parseGitea knows push and pull_request. As GitHub, Gitea tells of new and
// deleted branches and tags a second time. It has no ping: its test is a push.
func parseGitea(event string, body []byte) (*Event, error) {
	var p hubPayload
	switch event {
	case "push", "pull_request":
		if err := decode(body, &p); err != nil {
			return nil, err
		}
	default:
		return nil, unknown(event)
	}
	if event == "push" {
		return p.pushed()
	}
	return p.pulled(map[string]string{"synchronized": Updated, "label_updated": Edited, "label_cleared": Edited})
}

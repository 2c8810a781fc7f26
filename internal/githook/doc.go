// Package githook understands the webhooks of GitHub, GitLab and Gitea: whether a
// delivery is genuine, what happened, and which tasks follow from it by rules.
//
//	service.go   the services and their headers
//	proof.go     whether a delivery is genuine
//	github.go gitlab.go gitea.go   a payload becomes an Event
//	event.go     what happened, the same for all services
//	config.go    the file of secrets and rules
//	rule.go      which events a rule takes, and the task it makes
//
// Nothing here does I/O except for the reading of secrets. A payload is other
// people's text: it is never trusted before its signature was checked, and never
// afterwards either.
package githook

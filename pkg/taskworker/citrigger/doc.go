// Package citrigger is a stock handler of the worker binary: it starts a pipeline
// in a CI system.
//
// A payload is a JSON object; provider says which system, and which other fields
// there are. A field that the provider does not know is an error.
//
//	{"provider": "gitlab", "url": "https://gitlab.example.com", "project": "group/app",
//	 "ref": "main", "variables": {"DEPLOY": "1"}, "token": "env:GITLAB_TRIGGER_TOKEN"}
//
//	{"provider": "github_dispatch", "repository": "owner/name", "event_type": "deploy",
//	 "client_payload": {"sha": "abc"}, "token": "file:github-token"}
//
//	{"provider": "github_workflow", "repository": "owner/name", "workflow": "ci.yml",
//	 "ref": "main", "inputs": {"level": "2"}, "token": "file:github-token"}
//
//	{"provider": "jenkins", "url": "https://ci.example.com", "job": "folder/app",
//	 "parameters": {"SHA": "abc"}, "user": "bot", "token": "env:JENKINS_API_TOKEN"}
//
//	{"provider": "generic", "url": "https://ci.example.com/start", "method": "POST",
//	 "headers": {"Authorization": "Bearer ${env:CI_TOKEN}"}, "body": {"task": "${task.id}"}}
//
// # Credentials
//
// A payload names a credential, env:NAME or file:NAME, and never holds one. The
// worker's settings say which there are, and for each which provider may use it, in
// which field or at which place of a template, and below which URL. No error and no
// log shows one, not even where a server sends it back: of an answer to a request
// with a credential, only the status is recorded, unless Config.RecordAnswers says
// otherwise.
//
// # What an answer means
//
// As for package httphandler. Delivery is at least once: after a lost answer a
// pipeline may be started twice.
package citrigger

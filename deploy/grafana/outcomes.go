package main

var outcomes = board{
	name: "outcomes", title: "taskfleet: outcomes",
	about: "How attempts end: retries, dead tasks by kind, and what the HTTP targets answer.",
	panels: []panel{
		{
			title: "Share of attempts that fail", unit: "percentunit", figure: true,
			about: "Retry or dead, of all that were not given back.",
			queries: []query{{"failed", `sum(rate(taskfleet_worker_tasks_total` + and(`outcome=~"retry|dead"`) + over + `)) / sum(rate(taskfleet_worker_tasks_total` +
				and(`outcome!="released"`) + over + `))`}},
			lines: []limit{{0.05, "yellow"}, {0.25, "red"}},
		},
		{
			title: "Dead in an hour", unit: "short", figure: true,
			about:   "Tasks that went to dead_tasks: attempts exhausted, or the handler said never.",
			queries: []query{{"dead", `sum(increase(taskfleet_worker_tasks_total` + and(`outcome="dead"`) + `[1h]))`}},
			lines:   []limit{{1, "red"}},
		},
		{
			title: "Lost leases in an hour", unit: "short", figure: true,
			about:   "Results that were not recorded because another worker has the task: it ran twice.",
			queries: []query{{"lost", `sum(increase(taskfleet_worker_lost_leases_total` + sel + `[1h]))`}},
			lines:   []limit{{1, "yellow"}},
		},
		{
			title: "Abandoned handlers in an hour", unit: "short", figure: true,
			about:   "Handlers that went on after their context had ended.",
			queries: []query{{"abandoned", `sum(increase(taskfleet_worker_abandoned_handlers_total` + sel + `[1h]))`}},
			lines:   []limit{{1, "red"}},
		},
		{
			title: "Attempts by outcome", unit: "ops", stacked: true, wide: true,
			about:   "Completed, retry, dead, or released: given back without an attempt counted.",
			queries: []query{{"{{outcome}}", `sum by (outcome) (rate(taskfleet_worker_tasks_total` + sel + over + `))`}},
		},
		{
			title: "Retries by kind", unit: "ops",
			about:   "Attempts that failed and come back.",
			queries: []query{{"{{kind}}", `sum by (kind) (rate(taskfleet_worker_tasks_total` + and(`outcome="retry"`) + over + `))`}},
		},
		{
			title: "Dead by kind", unit: "short",
			about:   "In an hour.",
			queries: []query{{"{{kind}}", `sum by (kind) (increase(taskfleet_worker_tasks_total` + and(`outcome="dead"`) + `[1h]))`}},
		},
		{
			title: "HTTP answers by code", unit: "ops", stacked: true,
			about:   `"error" is no answer: refused, reset, timed out.`,
			queries: []query{{"{{code}}", `sum by (code) (rate(taskfleet_worker_http_responses_total` + sel + over + `))`}},
		},
		{
			title: "HTTP requests, p99 by code", unit: "s",
			about:   "How long the calls of the handlers took.",
			queries: []query{{"{{code}}", `histogram_quantile(0.99, sum by (le, code) (rate(taskfleet_worker_http_request_duration_seconds_bucket` + sel + over + `)))`}},
		},
		{
			title: "Calls refused, by reason", unit: "ops",
			about:   "Where tasks wanted to go and must not: metadata services, private addresses, hosts that are denied or not allowed.",
			queries: []query{{"{{reason}}", `sum by (reason) (rate(taskfleet_worker_outbound_refused_total` + sel + over + `))`}},
		},
		{
			title: "Hosts that are left alone", unit: "short",
			about: "Open circuit breakers, and the calls per second that they kept back.",
			queries: []query{
				{"open breakers", `sum(taskfleet_worker_outbound_open_breakers` + sel + `)`},
				{"calls kept back", `sum(rate(taskfleet_worker_outbound_not_sent_total` + sel + over + `))`},
			},
		},
	},
}

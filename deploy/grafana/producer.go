package main

var producer = board{
	name: "producer", title: "taskfleet: producer",
	about: "What producers shall do, what they do, and what holds them back.",
	panels: []panel{
		{
			title: "Target", unit: "ops", figure: true,
			about:   "Tasks per second that the producers are asked for; 0 as fast as possible, or as tasks come in.",
			queries: []query{{"target", `sum(taskfleet_producer_target_tasks_per_second` + sel + `)`}},
		},
		{
			title: "Observed", unit: "ops", figure: true,
			about:   "Tasks per second that were stored.",
			queries: []query{{"observed", `sum(rate(taskfleet_producer_tasks_total` + sel + over + `))`}},
		},
		{
			title: "Backpressure", unit: "ops", figure: true,
			about:   "Windows per second that did not fit because too many batches were on their way.",
			queries: []query{{"windows", `sum(rate(taskfleet_producer_backpressure_windows_total` + sel + over + `))`}},
			lines:   []limit{{0.1, "yellow"}, {1, "red"}},
		},
		{
			title: "Refused in an hour", unit: "short", figure: true,
			about:   "Tasks with a wrong field.",
			queries: []query{{"refused", `sum(increase(taskfleet_producer_invalid_tasks_total` + sel + `[1h]))`}},
			lines:   []limit{{1, "yellow"}},
		},
		{
			title: "Target and observed rate", unit: "ops", wide: true,
			about: "Observed below target: see backpressure, and the duration of batches.",
			queries: []query{
				{"target", `sum(taskfleet_producer_target_tasks_per_second` + sel + `)`},
				{"observed", `sum(rate(taskfleet_producer_tasks_total` + sel + over + `))`},
			},
		},
		{
			title: "Tasks per batch", unit: "short",
			about: "A batch is one transaction.",
			queries: append(quantiles("taskfleet_producer_batch_tasks"),
				query{"mean", `sum(rate(taskfleet_producer_batch_tasks_sum` + sel + over + `)) / sum(rate(taskfleet_producer_batch_tasks_count` + sel + over + `))`}),
		},
		{
			title: "Duration of batches", unit: "s",
			about:   "From sent to stored, or not.",
			queries: quantiles("taskfleet_producer_batch_duration_seconds"),
		},
		{
			title: "Batches by outcome", unit: "ops", stacked: true,
			about:   "replayed: an earlier try had stored it. failed: tried again, or given up.",
			queries: []query{{"{{outcome}}", `sum by (outcome) (rate(taskfleet_producer_batches_total` + sel + over + `))`}},
		},
		{
			title: "Backpressure over time", unit: "short",
			about: "Per second: windows that did not fit, and the tasks that had to wait for the next one.",
			queries: []query{
				{"windows", `sum(rate(taskfleet_producer_backpressure_windows_total` + sel + over + `))`},
				{"tasks", `sum(rate(taskfleet_producer_backpressure_tasks_total` + sel + over + `))`},
			},
		},
		{
			title: "Requests by code", unit: "ops", stacked: true,
			about:   "Answers of --listen. 202: stored. 4xx: refused. 429: too much at once. 503: not stored, the sender has to try again.",
			queries: []query{{"{{code}}", `sum by (code) (rate(taskfleet_ingest_requests_total` + sel + over + `))`}},
		},
		{
			title: "Duration of requests", unit: "s",
			about:   "From the request to its answer, which comes after the commit.",
			queries: quantiles("taskfleet_ingest_request_duration_seconds"),
		},
		{
			title: "Webhooks by outcome", unit: "ops", stacked: true,
			about:   "duplicate: delivered before. ignored: no rule wants it. refused: not genuine. bad: not understood. failed: not stored.",
			queries: []query{{"{{service}} {{outcome}}", `sum by (service, outcome) (rate(taskfleet_ingest_hook_events_total` + sel + over + `))`}},
		},
		{
			title: "Requests held back", unit: "ops",
			about:   "Answered 429, by what there was too much of.",
			queries: []query{{"{{limit}}", `sum by (limit) (rate(taskfleet_ingest_backpressure_total` + sel + over + `))`}},
		},
		{
			title: "Tasks by kind", unit: "ops", stacked: true,
			about:   "Stored, duplicates among them.",
			queries: []query{{"{{kind}}", `sum by (kind) (rate(taskfleet_producer_tasks_total` + sel + over + `))`}},
		},
		{
			title: "Refused and known tasks", unit: "ops",
			about: "Refused by the first field that is wrong; known: left as they are, because their id was enqueued before.",
			queries: []query{
				{"refused: {{field}}", `sum by (field) (rate(taskfleet_producer_invalid_tasks_total` + sel + over + `))`},
				{"known", `sum(rate(taskfleet_producer_duplicate_tasks_total` + sel + over + `))`},
			},
		},
	},
}

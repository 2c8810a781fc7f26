package main

var flow = board{
	name: "flow", title: "taskfleet: flow",
	about: "What comes in, what goes out, what waits and for how long.",
	panels: []panel{
		{
			title: "Backlog", unit: "short", figure: true,
			about:   "Pending tasks of the fleet when their owners counted them last. Exact: each worker counts its own partitions.",
			queries: []query{{"pending", `sum(taskfleet_worker_backlog_tasks` + and(`state="pending"`) + `)`}},
		},
		{
			title: "Age of the oldest", unit: "s", figure: true,
			about:   "How long the pending task that waits longest had been due when it was counted last.",
			queries: []query{{"oldest", `max(taskfleet_worker_oldest_pending_age_seconds` + sel + `)`}},
			lines:   []limit{{60, "yellow"}, {300, "red"}},
		},
		{
			title: "Done", unit: "ops", figure: true,
			about:   "Completed tasks per second.",
			queries: []query{{"completed", `sum(rate(taskfleet_worker_tasks_total` + and(`outcome="completed"`) + over + `))`}},
		},
		{
			title: "Counted", unit: "percentunit", figure: true,
			about:   "Share of the partitions that the backlog covers: all, but for a moment after a rebalance.",
			queries: []query{{"counted", `sum(taskfleet_worker_counted_partitions` + sel + `) / max(taskfleet_rebalancer_partitions` + sel + `)`}},
		},
		{
			title: "In and out", unit: "ops", wide: true,
			about: "Tasks that producers stored, and attempts that ended. Producers that are not scraped are missing in the first.",
			queries: []query{
				{"in", `sum(rate(taskfleet_producer_tasks_total` + sel + over + `))`},
				{"completed", `sum(rate(taskfleet_worker_tasks_total` + and(`outcome="completed"`) + over + `))`},
				{"retry", `sum(rate(taskfleet_worker_tasks_total` + and(`outcome="retry"`) + over + `))`},
				{"promoted", `sum(rate(taskfleet_worker_promoted_tasks_total` + sel + over + `))`},
			},
		},
		{
			title: "Backlog by state", unit: "short", stacked: true,
			about:   "Pending: could run. Locked: claimed. Delayed: not due yet, among them retries.",
			queries: []query{{"{{state}}", `sum by (state) (taskfleet_worker_backlog_tasks` + sel + `)`}},
		},
		{
			title: "Age of the oldest pending task", unit: "s",
			about:   "The autoscaler's custom metric.",
			queries: []query{{"oldest", `max(taskfleet_worker_oldest_pending_age_seconds` + sel + `)`}},
			lines:   []limit{{300, "red"}},
		},
		{
			title: "Latency: from due to started", unit: "s",
			about:   "Of all tasks that started. It does not show those that still wait: see the age of the oldest.",
			queries: quantiles("taskfleet_worker_task_latency_seconds"),
		},
		{
			title: "Duration of handlers", unit: "s",
			queries: quantiles("taskfleet_worker_task_duration_seconds"),
			about:   "How long handlers ran, whatever their outcome.",
		},
		{
			title: "Claims", unit: "ops",
			about: "Tasks that claims asked for and got. The difference went to somebody else, or changed in between.",
			queries: []query{
				{"asked", `sum(rate(taskfleet_worker_claims_asked_total` + sel + over + `))`},
				{"got", `sum(rate(taskfleet_worker_claims_total` + sel + over + `))`},
				{"candidates read", `sum(rate(taskfleet_worker_candidates_total` + sel + over + `))`},
			},
		},
		{
			title: "Tasks per record of outcomes", unit: "short",
			about:   "Batches: the larger, the fewer statements per task.",
			queries: []query{{"mean", `sum(rate(taskfleet_worker_flush_tasks_sum` + sel + over + `)) / sum(rate(taskfleet_worker_flush_tasks_count` + sel + over + `))`}},
		},
		{
			title: "Worker's operations, p99", unit: "s",
			about:   "Sweep, claim, flush and promote, with their repetitions.",
			queries: []query{{"{{op}}", `histogram_quantile(0.99, sum by (le, op) (rate(taskfleet_worker_statement_duration_seconds_bucket` + sel + over + `)))`}},
		},
		{
			title: "Failed operations of workers", unit: "ops",
			about:   "After their retries; the worker repeats them.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_worker_errors_total` + sel + over + `))`}},
		},
	},
}

package main

var fleet = board{
	name: "fleet", title: "taskfleet: fleet",
	about: "Who is in the fleet, who owns which share of the partitions, and how partitions move.",
	panels: []panel{
		{
			title: "Workers", unit: "short", figure: true,
			about:   "Workers with a coordination session.",
			queries: []query{{"workers", `sum(taskfleet_rebalancer_session_up` + sel + `)`}},
		},
		{
			title: "Partitions without an owner", unit: "short", figure: true,
			about:   "Nobody runs their tasks. After a crash it is 0 again within the session timeout plus two seconds.",
			queries: []query{{"unowned", `max(taskfleet_rebalancer_partitions` + sel + `) - sum(taskfleet_rebalancer_owned_partitions` + sel + `)`}},
			lines:   []limit{{1, "red"}},
		},
		{
			title: "Spread", unit: "short", figure: true,
			about:   "Partitions of the fullest worker less those of the emptiest: at most 1 at equal weights, when nothing moves.",
			queries: []query{{"spread", `max(taskfleet_rebalancer_owned_partitions` + sel + `) - min(taskfleet_rebalancer_owned_partitions` + sel + `)`}},
			lines:   []limit{{2, "yellow"}},
		},
		{
			title: "Views of the fleet", unit: "short", figure: true,
			about:   "Different sizes of the fleet that workers see: 1, but for a moment after somebody came or went.",
			queries: []query{{"views", `count(count_values("value", taskfleet_rebalancer_members` + sel + `))`}},
			lines:   []limit{{2, "yellow"}},
		},
		{
			title: "Partitions per worker", unit: "short", stacked: true, wide: true,
			about:   "The stack is as high as the fleet has partitions while each has an owner.",
			queries: []query{{"{{instance}}", `sum by (instance) (taskfleet_rebalancer_owned_partitions` + sel + `)`}},
		},
		{
			title: "Rebalances", unit: "short",
			about: "Plans that were computed, and the partitions that they moved.",
			queries: []query{
				{"plans", `sum(increase(taskfleet_rebalancer_plans_total` + sel + over + `))`},
				{"gained", `sum(increase(taskfleet_rebalancer_gained_partitions_total` + sel + over + `))`},
				{"given up", `sum(increase(taskfleet_rebalancer_given_partitions_total` + sel + over + `))`},
			},
		},
		{
			title: "Planned and owned", unit: "short",
			about: "What the plans give to the workers, and what they own: apart while partitions are handed over.",
			queries: []query{
				{"planned", `sum(taskfleet_rebalancer_planned_partitions` + sel + `)`},
				{"owned", `sum(taskfleet_rebalancer_owned_partitions` + sel + `)`},
				{"all", `max(taskfleet_rebalancer_partitions` + sel + `)`},
			},
		},
		{
			title: "Hand-over: from plan to owned", unit: "s",
			about:   "How long a partition took from the plan that gave it to a worker until that worker owned it. What a new worker takes before its first scrape is not seen.",
			queries: quantiles("taskfleet_rebalancer_acquire_wait_seconds"),
		},
		{
			title: "Hand-over: drain", unit: "s",
			about:   "How long it took to empty a partition before it was released.",
			queries: quantiles("taskfleet_rebalancer_drain_duration_seconds"),
		},
		{
			title: "Claimed tasks in the workers", unit: "short", stacked: true,
			about:   "Waiting for a handler, running, or ended with an outcome that is not recorded yet.",
			queries: []query{{"{{state}}", `sum by (state) (taskfleet_worker_held_tasks` + sel + `)`}},
		},
		{
			title: "Failed operations on the coordination node", unit: "ops",
			about:   "They are tried again.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_rebalancer_errors_total` + sel + over + `))`}},
		},
		{
			title: "CPU per worker", unit: "percentunit",
			about:   "Of one core. The instance group scales on the machine's CPU.",
			queries: []query{{"{{instance}}", `rate(process_cpu_seconds_total` + sel + over + `) and on (instance) taskfleet_rebalancer_partitions` + sel}},
		},
		{
			title: "Memory per worker", unit: "bytes",
			about:   "Resident memory.",
			queries: []query{{"{{instance}}", `process_resident_memory_bytes` + sel + ` and on (instance) taskfleet_rebalancer_partitions` + sel}},
		},
	},
}

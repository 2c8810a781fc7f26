package main

// conflictRate is the share of statements that ended with a conflict.
const conflictRate = `sum(rate(taskfleet_ydb_conflicts_total` + sel + over + `)) / sum(rate(taskfleet_ydb_statements_total` + sel + over + `))`

var database = board{
	name: "ydb", title: "taskfleet: YDB",
	about: "What the fleet asks of the database, what that costs, and where it collides.",
	panels: []panel{
		{
			title: "Conflict rate", unit: "percentunit", figure: true,
			about:   "Statements that ended with ABORTED, of all. Below 1 % in steady state.",
			queries: []query{{"conflicts", conflictRate}},
			lines:   []limit{{0.01, "yellow"}, {0.05, "red"}},
		},
		{
			title: "Statements per finished task", unit: "short", figure: true,
			about:   "At most 0.1 at saturation. An idle fleet has few tasks to divide by.",
			queries: []query{{"statements", `sum(rate(taskfleet_ydb_statements_total` + sel + over + `)) / sum(rate(taskfleet_worker_tasks_total` + and(`outcome="completed"`) + over + `))`}},
		},
		{
			title: "Request units per finished task", unit: "short", figure: true,
			about:   "At most 12 from enqueue to completed, producers included.",
			queries: []query{{"units", `sum(rate(taskfleet_ydb_request_units_total` + sel + over + `)) / sum(rate(taskfleet_worker_tasks_total` + and(`outcome="completed"`) + over + `))`}},
		},
		{
			title: "Session losses in an hour", unit: "short", figure: true,
			about:   "A worker without its session gives up its partitions at once.",
			queries: []query{{"losses", `sum(increase(taskfleet_rebalancer_sessions_lost_total` + sel + `[1h]))`}},
			lines:   []limit{{1, "yellow"}, {5, "red"}},
		},
		{
			title: "Conflict rate over time", unit: "percentunit", wide: true,
			about: "The lines are at 1 %, the budget of steady state, and at 5 %, where somebody should look.",
			queries: []query{
				{"all", conflictRate},
				{"{{op}}", `sum by (op) (rate(taskfleet_ydb_conflicts_total` + sel + over + `)) / sum by (op) (rate(taskfleet_ydb_statements_total` + sel + over + `))`},
			},
			lines: []limit{{0.01, "yellow"}, {0.05, "red"}},
		},
		{
			title: "Statements by operation", unit: "ops", stacked: true,
			about:   "Repetitions included.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_ydb_statements_total` + sel + over + `))`}},
		},
		{
			title: "Conflicts by operation", unit: "ops",
			about:   "They are repeated at once.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_ydb_conflicts_total` + sel + over + `))`}},
		},
		{
			title: "Request units by operation", unit: "short", stacked: true,
			about:   "Per second, as the database tells it.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_ydb_request_units_total` + sel + over + `))`}},
		},
		{
			title: "Rows read by operation", unit: "short", stacked: true,
			about:   "Per second. At most 4 per finished task, whatever the history.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_ydb_rows_read_total` + sel + over + `))`}},
		},
		{
			title: "Rows written by operation", unit: "short", stacked: true,
			about:   "Updated and deleted, per second.",
			queries: []query{{"{{op}}", `sum by (op) (rate(taskfleet_ydb_rows_written_total` + sel + over + `))`}},
		},
		{
			title: "Failed operations by class", unit: "ops",
			about:   "After their repetitions. unknown: timed out or cut off, may have been done. fatal: the call, the schema or the rights are wrong.",
			queries: []query{{"{{class}}", `sum by (class) (rate(taskfleet_ydb_errors_total` + sel + over + `))`}},
		},
		{
			title: "Duration of operations, p50", unit: "s",
			about:   "With their repetitions.",
			queries: []query{{"{{op}}", `histogram_quantile(0.5, sum by (le, op) (rate(taskfleet_ydb_operation_duration_seconds_bucket` + sel + over + `)))`}},
		},
		{
			title: "Duration of operations, p99", unit: "s",
			about:   "With their repetitions.",
			queries: []query{{"{{op}}", `histogram_quantile(0.99, sum by (le, op) (rate(taskfleet_ydb_operation_duration_seconds_bucket` + sel + over + `)))`}},
		},
		{
			title: "Coordination sessions", unit: "short",
			about: "Opened and lost: beside each other when the database or the network had a bad time.",
			queries: []query{
				{"opened", `sum(increase(taskfleet_rebalancer_sessions_opened_total` + sel + over + `))`},
				{"lost", `sum(increase(taskfleet_rebalancer_sessions_lost_total` + sel + over + `))`},
			},
		},
	},
}

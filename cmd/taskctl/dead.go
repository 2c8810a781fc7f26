package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
)

const deadUsage = `taskctl dead shows the tasks that ended without having been done, and makes them
runnable again, with all their attempts before them. Dead tasks are kept for 14
days.

Usage:
  taskctl dead list     show them, oldest partition and id first
  taskctl dead replay   make them runnable; say which by --kind, --id or --all

Examples:
  taskctl dead list --kind sqs
  taskctl dead list --json --limit 0 | jq -r .last_error | sort | uniq -c
  taskctl dead replay --kind sqs --limit 10      try some first
  taskctl dead replay --kind sqs --limit 0       then all of the kind
  taskctl dead replay --id 0193e7a4-... --id 0193e7a5-...

` + ydbconn.Help

// deadPage is how many dead tasks are read at once.
const deadPage = 500

// deadOptions are the flags of taskctl dead.
type deadOptions struct {
	kind  string
	ids   []string
	all   bool
	limit int
	json  bool
}

func runDead(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl dead", deadUsage)
	var o deadOptions
	fs.StringVar(&o.kind, "kind", "", "only tasks of this `kind`")
	fs.StringArrayVar(&o.ids, "id", nil, "only the task with this `id`; may be repeated")
	fs.BoolVar(&o.all, "all", false, "replay: tasks of every kind")
	fs.IntVar(&o.limit, "limit", 100, "at most this `number` of tasks; 0 is no limit")
	fs.BoolVar(&o.json, "json", false, "print one JSON object per task")
	return withDatabaseIf(ctx, fs, args, stdout, stderr, []string{"list", "replay"}, o.validate, func(ctx context.Context, db *ydb.Driver, folder, verb string) error {
		if _, err := migrate.Check(ctx, db, folder); err != nil {
			return err
		}
		d := &deadCommand{store: taskstore.New(db, taskstore.Options{Folder: folder}), options: o, out: stdout}
		if verb == "replay" {
			return d.replay(ctx)
		}
		return d.list(ctx)
	})
}

func (o *deadOptions) validate(verb string) error {
	switch {
	case o.limit < 0:
		return fmt.Errorf("--limit %d: must not be negative", o.limit)
	case verb == "replay" && o.kind == "" && len(o.ids) == 0 && !o.all:
		return errors.New("say which tasks: --kind, --id or --all")
	case o.all && (o.kind != "" || len(o.ids) > 0):
		return errors.New("--all cannot stand with --kind or --id")
	}
	return nil
}

// deadCommand lists or replays dead tasks.
type deadCommand struct {
	store   *taskstore.Store
	options deadOptions
	out     io.Writer
}

// pages calls f with the tasks that the flags name, page by page.
func (d *deadCommand) pages(ctx context.Context, f func([]taskstore.DeadTask) error) (total int, err error) {
	ids := map[string]bool{}
	for _, id := range d.options.ids {
		ids[id] = true
	}
	after := task.Key{}
	for {
		page, err := d.store.Dead(ctx, d.options.kind, after, deadPage)
		if err != nil || len(page) == 0 {
			return total, err
		}
		after = page[len(page)-1].Key
		var chosen []taskstore.DeadTask
		for _, t := range page {
			if len(ids) > 0 && !ids[t.Key.ID] {
				continue
			}
			if d.options.limit > 0 && total+len(chosen) == d.options.limit {
				break
			}
			chosen = append(chosen, t)
		}
		total += len(chosen)
		if len(chosen) > 0 {
			if err := f(chosen); err != nil {
				return total, err
			}
		}
		if d.options.limit > 0 && total == d.options.limit {
			return total, nil
		}
	}
}

func (d *deadCommand) list(ctx context.Context) error {
	total, err := d.pages(ctx, func(page []taskstore.DeadTask) error {
		for _, t := range page {
			if err := d.print(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !d.options.json {
		fmt.Fprintf(d.out, "%d dead tasks\n", total)
	}
	return err
}

func (d *deadCommand) replay(ctx context.Context) error {
	replayed := 0
	_, err := d.pages(ctx, func(page []taskstore.DeadTask) error {
		keys := make([]task.Key, len(page))
		for i, t := range page {
			keys[i] = t.Key
		}
		moved, err := d.store.Replay(ctx, keys)
		replayed += len(moved)
		if d.options.json {
			for _, k := range moved {
				_ = json.NewEncoder(d.out).Encode(map[string]any{"id": k.ID, "partition": k.Partition})
			}
		}
		return err
	})
	if !d.options.json {
		fmt.Fprintf(d.out, "%d tasks are runnable again\n", replayed)
	}
	return err
}

// deadReport is the JSON of one dead task.
type deadReport struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Partition uint16    `json:"partition"`
	Key       string    `json:"key,omitempty"`
	Attempts  uint32    `json:"attempts"`
	CreatedAt time.Time `json:"created_at"`
	DiedAt    time.Time `json:"died_at"`
	LastError string    `json:"last_error"`
}

func (d *deadCommand) print(t taskstore.DeadTask) error {
	if d.options.json {
		return json.NewEncoder(d.out).Encode(deadReport{
			ID: t.Key.ID, Kind: t.Kind, Partition: t.Key.Partition, Key: t.PartitionKey, Attempts: t.Attempt,
			CreatedAt: t.CreatedAt.UTC(), DiedAt: t.DiedAt.UTC(), LastError: t.LastError,
		})
	}
	_, err := fmt.Fprintf(d.out, "%s  %s  %s  attempts %d  %s\n",
		t.DiedAt.UTC().Format(time.RFC3339), t.Key.ID, t.Kind, t.Attempt, oneLine(t.LastError, 120))
	return err
}

// oneLine is the start of a text, without line breaks and control characters.
func oneLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}

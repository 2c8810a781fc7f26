package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskfleet/taskfleet/internal/taskjson"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// inputSource reads tasks from lines and stores them in batches.
type inputSource struct {
	options  *options
	producer *taskproducer.Producer
	progress *progress
	lines    *taskjson.LineReader
	complain io.Writer // of bad lines
}

// numbered is a task with the number of its line.
type numbered struct {
	task.Task
	line int
}

// run reads until the end, until ctx ends or until a batch cannot be stored, and
// waits for the batches on their way. A batch is sent when it is full, or when
// its first task has waited for --batch-window.
func (s *inputSource) run(ctx context.Context) error {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	storing, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(reading, func() {
		time.AfterFunc(s.options.drain, func() {
			cancel(fmt.Errorf("batches not stored within %s of the end", s.options.drain))
		})
	})()

	// The reader may hang in a Read that nothing ends, so it is not waited for.
	// A task counts from when it is handed over.
	tasks := make(chan numbered)
	ended := make(chan error, 1)
	go func() {
		defer close(tasks)
		ended <- s.read(reading, tasks)
	}()

	var batches errgroup.Group
	batches.SetLimit(s.options.inFlight)
	s.collect(reading, tasks, func(batch []numbered) {
		batches.Go(func() error {
			err := s.store(storing, batch)
			if err != nil {
				stop(err)
			}
			return err
		})
	})
	err := batches.Wait()
	select {
	case readErr := <-ended:
		return errors.Join(err, readErr)
	default:
		return err
	}
}

// read hands over the tasks of the lines, until the end or until ctx ends, and
// reports the bad lines.
func (s *inputSource) read(ctx context.Context, tasks chan<- numbered) error {
	for {
		line, number, err := s.lines.Next()
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		var t task.Task
		switch {
		case errors.Is(err, taskjson.ErrLineTooLong):
		case err != nil:
			return fmt.Errorf("reading --input behind line %d: %w", number, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			t, err = taskjson.Decode(line)
		}
		if err != nil {
			s.refuse(number, err)
			continue
		}
		select {
		case tasks <- numbered{t, number}:
		case <-ctx.Done():
			return nil
		}
	}
}

// refuse counts and reports a bad line.
func (s *inputSource) refuse(number int, err error) {
	name := taskjson.Field(err)
	if name == "" {
		name = "line"
	}
	s.progress.tasks.Add(1)
	s.progress.lastLine.Store(int64(number))
	s.progress.Invalid(name)
	s.report(number, err)
}

func (s *inputSource) report(number int, err error) {
	fmt.Fprintf(s.complain, "line %d: %s\n", number, taskjson.Describe(err))
}

// store stores a batch and reports the lines whose tasks are refused. Its error
// is that of the others.
func (s *inputSource) store(ctx context.Context, batch []numbered) error {
	tasks := make([]task.Task, len(batch))
	for i := range batch {
		tasks[i] = batch[i].Task
	}
	_, err := s.producer.Enqueue(ctx, tasks...)
	for _, refused := range taskproducer.TaskErrors(err) {
		s.report(batch[refused.Index].line, refused.Err)
	}
	var failed *taskproducer.BatchError
	if errors.As(err, &failed) {
		return failed
	}
	return nil
}

// collect makes batches of tasks until there are no more or ctx ends.
func (s *inputSource) collect(ctx context.Context, tasks <-chan numbered, store func([]numbered)) {
	var batch []numbered
	flush := func() {
		if len(batch) > 0 {
			store(batch)
			batch = nil
		}
	}
	defer flush()
	window := time.NewTimer(s.options.window)
	defer window.Stop()
	for {
		select {
		case t, ok := <-tasks:
			if !ok {
				return
			}
			s.progress.tasks.Add(1)
			s.progress.lastLine.Store(int64(t.line))
			if len(batch) == 0 {
				window.Reset(s.options.window)
			}
			if batch = append(batch, t); len(batch) == taskproducer.DefaultBatchTasks {
				flush()
			}
		case <-window.C:
			flush()
		case <-ctx.Done():
			return
		}
	}
}

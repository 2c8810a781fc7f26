package session

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Control is the transaction that a query asks for. The zero Control asks for
// none: a query that reads or writes then has a transaction of its own.
type Control struct {
	ID     string // an open transaction
	Begin  bool   // or a new one, in Mode
	Mode   Mode
	Commit bool // commit it after the query
}

func (c Control) none() bool { return c == Control{} }

// Request is a query to run.
type Request struct {
	SessionID  string // empty: a session for this query only
	Kind       string // of the call, for Config.Committed
	Text       string
	ParamTypes map[string]*types.Type // by name without $
	Params     map[string]types.Value
	Control    Control
	DataOnly   bool // the rules of the table service: no DDL, and some modes must commit at once
	SchemeOnly bool // refuse everything else
}

// Sink takes the result of a query while it runs.
type Sink interface {
	exec.Sink
	// Transaction tells, before anything else, the transaction that stays open
	// after the query. It is not called when none does.
	Transaction(id string)
}

// Outcome is what a query that went well leaves beside its rows.
type Outcome struct {
	TxID     string // empty when no transaction is open after the query
	Plan     *plan.Query
	Stats    exec.Stats
	Cached   bool          // the plan was there already
	Compile  time.Duration // processor time of making the plan
	CPU      time.Duration // processor time of running it
	Duration time.Duration // all of it, commit included
}

// Units is what the query costs, see RequestUnits.
func (o *Outcome) Units() uint64 {
	access := make([]store.Access, 0, len(o.Stats.Tables))
	for _, t := range o.Stats.Tables {
		access = append(access, *t)
	}
	return RequestUnits(o.Compile+o.CPU, access)
}

// Execute runs a query. Rows go to sink while it runs, those of a query that
// fails at its commit too. A failed query has ended the transaction it ran in.
func (m *Manager) Execute(ctx context.Context, req Request, sink Sink) (*Outcome, error) {
	start := m.cfg.Clock.Now()
	s, err := m.sessionOf(req)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := &Outcome{}
	if err := s.execute(ctx, req, sink, out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, answer(err)
	}
	out.Duration = m.cfg.Clock.Since(start)
	return out, nil
}

// Compile plans a query without running it, for EXPLAIN and VALIDATE.
func (m *Manager) Compile(req Request) (out *Outcome, err error) {
	out = &Outcome{}
	err = guard(func() error { return m.compile(req, out) })
	return out, answer(err)
}

// sessionOf finds the request's session, or makes one that ends with the call.
func (m *Manager) sessionOf(req Request) (*Session, error) {
	if req.SessionID != "" {
		return m.Get(req.SessionID)
	}
	if req.Control.ID != "" || req.Control.Begin && !req.Control.Commit {
		return nil, issue.BadRequest("A query without a session must commit its transaction")
	}
	return m.newSession(""), nil
}

func (s *Session) execute(ctx context.Context, req Request, sink Sink, out *Outcome) error {
	t, err := s.selected(req)
	if err != nil {
		return err
	}
	err = guard(func() error { return s.manager.compile(req, out) })
	if err == nil && out.Plan.IsDDL() {
		err = s.manager.define(ctx, req, out.Plan)
		if err == nil {
			return nil
		}
	}
	if err == nil && req.SchemeOnly {
		err = issue.New(Ydb.StatusIds_GENERIC_ERROR, issue.CodeBadOperation, "Data operations can't be performed in scheme query")
	}
	if err == nil && t == nil {
		t, err = s.begin(req.Control, out.Plan)
	}
	if err == nil && t.mode.readOnly() && !out.Plan.ReadOnly() {
		err = issue.ReadOnly()
	}
	if err == nil {
		err = guard(func() error { return s.run(ctx, t, req, sink, out) })
	}
	last := req.Control.Commit || req.Control.none()
	if t != nil && (err != nil || last) {
		s.forget(t)
	}
	switch {
	case err != nil:
		if t != nil {
			t.tx.Rollback()
		}
		return err
	case last:
		return guard(func() error { return s.manager.commit(ctx, t, req.Kind) })
	}
	out.TxID = t.id
	return nil
}

// selected finds the open transaction that the request names; nil if it names
// none. It refuses what no transaction can be.
func (s *Session) selected(req Request) (*transaction, error) {
	c := req.Control
	if c.ID != "" {
		return s.find(c.ID)
	}
	s.dropAbandoned()
	if !c.Begin {
		return nil, nil
	}
	if err := c.Mode.check(); err != nil {
		return nil, err
	}
	if req.DataOnly && c.Mode.oneShot() && !c.Commit {
		return nil, errCommitRequired(c.Mode)
	}
	return nil, nil
}

// begin opens the transaction for a query that is not in one: in the session
// when it stays open, otherwise for this query alone.
func (s *Session) begin(c Control, q *plan.Query) (*transaction, error) {
	if c.Begin && !c.Commit {
		t, err := s.open(c.Mode)
		if err != nil {
			return nil, err
		}
		t.byQuery = true
		return t, nil
	}
	return &transaction{
		id: newTransactionID(), mode: c.Mode,
		tx: s.manager.begin(c.Mode.engineMode(q.ReadOnly())),
	}, nil
}

func (s *Session) run(ctx context.Context, t *transaction, req Request, sink Sink, out *Outcome) error {
	if req.Control.Begin && !req.Control.Commit || req.Control.ID != "" && !req.Control.Commit {
		sink.Transaction(t.id)
	}
	if !out.Plan.ReadOnly() {
		t.wrote, t.text = true, req.Text
	}
	var err error
	out.CPU = onThread(func() {
		err = exec.Run(ctx, out.Plan, req.Params, t.tx, s.manager.cfg.Clock.Now(), sink, &out.Stats)
	})
	return err
}

// define runs DDL, which YDB does outside transactions.
func (m *Manager) define(ctx context.Context, req Request, q *plan.Query) error {
	if req.DataOnly {
		return issue.New(Ydb.StatusIds_GENERIC_ERROR, issue.CodeBadOperation, "Scheme operations can't be performed in data query")
	}
	if !req.Control.none() {
		return issue.DDLInTransaction()
	}
	return guard(func() error { return exec.RunDDL(ctx, q, m.cfg.Store) })
}

// compile makes the plan of a query, or takes it from the cache.
func (m *Manager) compile(req Request, out *Outcome) error {
	env := plan.Env{Catalog: m.cfg.Store.Catalog(), Database: m.cfg.Database, Params: req.ParamTypes}
	var err error
	cpu := onThread(func() { out.Plan, out.Cached, err = m.plans.Compile(req.Text, env) })
	if err == nil && !out.Cached {
		out.Compile = cpu
	}
	return err
}

// Parse checks the form of a text.
func (m *Manager) Parse(text string) error {
	return answer(guard(func() error {
		_, err := plan.Parse(text)
		return err
	}))
}

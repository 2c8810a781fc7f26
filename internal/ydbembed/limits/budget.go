package limits

import (
	"sync/atomic"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// Pool is the memory that all queries of a server share. Its methods may be
// called from any goroutine.
type Pool struct {
	query, total int64
	used         atomic.Int64
}

// NewPool makes a pool of total bytes, of which one query may hold at most
// query bytes.
func NewPool(query, total int64) *Pool { return &Pool{query: query, total: total} }

// Used returns the bytes that are taken.
func (p *Pool) Used() int64 { return p.used.Load() }

// step is how much an account takes of its pool. What is less than a step is
// free, so that a small query runs whatever others hold.
const step = 1 << 20

// Account is what one query or transaction takes of a Pool. It is used by one
// goroutine at a time.
type Account struct {
	pool  *Pool
	used  int64
	taken int64 // of the pool, whole steps
}

// Account opens an account; Close must end it.
func (p *Pool) Account() Account { return Account{pool: p} }

// Add counts n more bytes, or fewer when n is negative. It fails with
// OVERLOADED when the pool has no more; the bytes count all the same.
func (a *Account) Add(n int) error {
	a.used += int64(n)
	if a.used-a.taken < step {
		return nil
	}
	more := (a.used - a.taken) / step * step
	a.taken += more
	if a.pool.used.Add(more) > a.pool.total {
		return issue.MemoryExhausted()
	}
	return nil
}

// Used returns the bytes that were counted.
func (a *Account) Used() int64 { return a.used }

// Close gives everything back.
func (a *Account) Close() {
	a.pool.used.Add(-a.taken)
	a.used, a.taken = 0, 0
}

// Budget is what one run of a query may take. Whatever keeps something in
// memory charges it: operators what they hold, expressions what they make. It is
// used by one goroutine.
type Budget struct {
	account Account
	made    int // by the expressions that are computed over the row at hand
	result  int
	peak    int64
}

// NewBudget returns the budget of a query; Close must end it.
func NewBudget(p *Pool) *Budget { return &Budget{account: p.Account()} }

// Hold charges n bytes that stay, or gives them back when n is negative.
func (b *Budget) Hold(n int) error {
	err := b.account.Add(n)
	b.peak = max(b.peak, b.account.used)
	if limit := b.account.pool.query; b.account.used > limit {
		return issue.MemoryLimit(limit)
	}
	return err
}

// Release gives back n bytes that were held.
func (b *Budget) Release(n int) { b.account.used -= int64(n) }

// Make charges n bytes that an expression made. They are given back by the next
// Row: what stays of them is held by whoever keeps it.
func (b *Budget) Make(n int) error {
	b.made += n
	return b.Hold(n)
}

// Row begins to compute expressions over another row.
func (b *Budget) Row() {
	b.account.used -= int64(b.made)
	b.made = 0
}

// Nest begins rows inside an expression, as a select used as a value makes them;
// what it returns is for Unnest.
func (b *Budget) Nest() (made int) {
	made, b.made = b.made, 0
	return made
}

// Unnest ends what Nest began.
func (b *Budget) Unnest(made int) { b.made += made }

// Result charges n bytes of the query's result.
func (b *Budget) Result(n int) error {
	if b.result += n; b.result > Result {
		return issue.ResultTooLarge(b.result, Result)
	}
	return nil
}

// Peak returns the most bytes that were held.
func (b *Budget) Peak() int64 { return b.peak }

// Close gives everything back.
func (b *Budget) Close() { b.account.Close() }

package store

import (
	"container/list"

	"github.com/tidwall/btree"
)

// historyLimit bounds the written keys that are remembered for transactions
// still open. One that outlives its history conflicts when it commits writes.
const historyLimit = 1 << 20

// history remembers which keys recent commits wrote, as far back as an open
// transaction may need it for validation.
type history struct {
	last    btree.Map[string, uint64] // key -> number of the latest commit that wrote it
	commits []pastCommit              // oldest first
	keys    int                       // in commits
	floor   uint64                    // commits up to this one are forgotten
}

type pastCommit struct {
	seq  uint64
	keys []string
}

func (h *history) add(seq uint64, keys []string) {
	for _, k := range keys {
		h.last.Set(k, seq)
	}
	h.commits = append(h.commits, pastCommit{seq, keys})
	h.keys += len(keys)
	for h.keys > historyLimit {
		h.dropOldest()
	}
}

// trim forgets commits that every open transaction's snapshot includes.
func (h *history) trim(oldest uint64) {
	for len(h.commits) > 0 && h.commits[0].seq <= oldest {
		h.dropOldest()
	}
}

func (h *history) dropOldest() {
	c := h.commits[0]
	h.commits[0] = pastCommit{}
	h.commits = h.commits[1:]
	for _, k := range c.keys {
		if seq, ok := h.last.Get(k); ok && seq == c.seq {
			h.last.Delete(k)
		}
	}
	h.keys -= len(c.keys)
	h.floor = c.seq
}

// keyChanged tells whether a commit after the given one wrote the key.
func (h *history) keyChanged(key string, after uint64) bool {
	seq, ok := h.last.Get(key)
	return ok && seq > after
}

// spanChanged tells whether a commit after the given one wrote into the span.
func (h *history) spanChanged(sp span, after uint64) (changed bool) {
	h.last.Ascend(sp.lower, func(key string, seq uint64) bool {
		if key >= sp.upper {
			return false
		}
		changed = seq > after
		return !changed
	})
	return changed
}

// readers are the open transactions that need the history, by snapshot: they
// join in the order of their snapshots, so the front is the oldest.
type readers struct{ list list.List }

func (r *readers) join(tx *Tx) { tx.place = r.list.PushBack(tx) }

func (r *readers) leave(tx *Tx) {
	if tx.place != nil {
		r.list.Remove(tx.place)
		tx.place = nil
	}
}

// oldest returns the lowest snapshot among the readers.
func (r *readers) oldest() (seq uint64, any bool) {
	front := r.list.Front()
	if front == nil {
		return 0, false
	}
	return front.Value.(*Tx).seq, true
}

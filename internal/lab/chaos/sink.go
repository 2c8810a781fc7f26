package chaos

import (
	"context"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
)

// answer makes some deliveries fail and some slow, a few of them slower than a
// drain may last, by the seed and the attempt.
func (r *run) answer(ctx context.Context, id string, attempt int) int {
	d := Delivery{At: time.Now(), Task: id, Attempt: attempt, Status: http.StatusNoContent}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id + strconv.Itoa(attempt) + strconv.FormatUint(r.Seed, 16)))
	wait := time.Duration(0)
	switch n := hash.Sum64() % 1000; {
	case n < 20:
		d.Status = http.StatusServiceUnavailable
	case n < 25:
		wait = drainTimeout * 3 / 2
	case n < 600:
		wait = time.Duration(n) * time.Millisecond // so that tasks run when a fault comes
	}
	_ = pause(ctx, wait) // whoever has left is not answered
	r.record.Delivery(d)
	return d.Status
}

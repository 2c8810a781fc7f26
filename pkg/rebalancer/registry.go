package rebalancer

import (
	"encoding/json"
	"fmt"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// registryName is the semaphore in which every worker holds a place.
const registryName = "worker-registry"

// The states of a registered worker.
const (
	stateActive   = "active"
	stateDraining = "draining" // stops: gets no partitions
	stateDrained  = "drained"  // idle by an operator's order: gets no partitions
	statePaused   = "paused"   // idle by its own decision: gets no partitions
)

// registration is what a worker writes at its place in the registry.
type registration struct {
	Worker      string `json:"worker"`
	Incarnation string `json:"incarnation"`
	Weight      int    `json:"weight"`
	State       string `json:"state"`
	Version     string `json:"version,omitempty"`
	// Kinds is null when the worker does not say what it handles, as earlier
	// versions do not.
	Kinds    []string `json:"kinds,omitempty"`
	KindsCut bool     `json:"kinds_cut,omitempty"` // there are more
}

func (c Config) registration(state string) []byte {
	r := registration{
		Worker: c.WorkerID, Incarnation: c.Incarnation, Weight: c.Weight, State: state, Version: c.Version,
	}
	r.Kinds, r.KindsCut = publishedKinds(c.Kinds)
	data, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("rebalancer: a struct of strings and numbers has no JSON: %v", err))
	}
	return data
}

func registryRequest(c Config, state string) coord.Request {
	return coord.Request{Data: c.registration(state), Timeout: c.SessionTimeout}
}

// view is the fleet as the registry shows it.
type view struct {
	members    []Member // active ones, by the order of their registration
	present    bool     // our session is in it
	superseded bool     // somebody registered our worker id after us
	malformed  int      // entries that nobody can read
}

// registered is one readable entry of the registry.
type registered struct {
	registration
	session uint64
	newest  bool // of the entries with this worker id
}

// readRegistry reads the owners of the registry, which come in the order of
// their registration. Of several entries with one worker id the newest counts:
// the others are earlier runs, whose sessions have not expired yet.
func readRegistry(owners []coord.Owner) (all []registered, malformed int) {
	newest := make(map[string]int)
	for _, o := range owners {
		r := registered{session: o.SessionID, newest: true}
		if err := json.Unmarshal(o.Data, &r.registration); err != nil || r.Worker == "" {
			malformed++
			continue
		}
		if earlier, is := newest[r.Worker]; is {
			all[earlier].newest = false
		}
		newest[r.Worker] = len(all)
		all = append(all, r)
	}
	return all, malformed
}

// active returns the members that get partitions.
func active(all []registered) []Member {
	var members []Member
	for _, r := range all {
		if r.newest && r.State == stateActive {
			members = append(members, Member{ID: r.Worker, Weight: r.Weight})
		}
	}
	return members
}

// readView is what the worker sees that has this id and this session.
func readView(owners []coord.Owner, workerID string, sessionID uint64) view {
	all, malformed := readRegistry(owners)
	v := view{members: active(all), malformed: malformed}
	for _, r := range all {
		switch {
		case r.session == sessionID:
			v.present = true
		case r.Worker == workerID && v.present:
			v.superseded = true
		}
	}
	return v
}

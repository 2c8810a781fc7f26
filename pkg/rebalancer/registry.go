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
	stateDraining = "draining" // gets no partitions
)

// registration is what a worker writes at its place in the registry.
type registration struct {
	Worker      string `json:"worker"`
	Incarnation string `json:"incarnation"`
	Weight      int    `json:"weight"`
	State       string `json:"state"`
	Version     string `json:"version,omitempty"`
}

func (c Config) registration(state string) []byte {
	data, err := json.Marshal(registration{
		Worker: c.WorkerID, Incarnation: c.Incarnation, Weight: c.Weight, State: state, Version: c.Version,
	})
	if err != nil {
		panic(fmt.Sprintf("rebalancer: a struct of strings and numbers has no JSON: %v", err))
	}
	return data
}

func registryRequest(c Config) coord.Request {
	return coord.Request{Data: c.registration(stateActive), Timeout: c.SessionTimeout}
}

// view is the fleet as the registry shows it.
type view struct {
	members    []Member // active ones, by the order of their registration
	present    bool     // our session is in it
	superseded bool     // somebody registered our worker id after us
	malformed  int      // entries that nobody can read
}

// readView reads the owners of the registry, which come in the order of their
// registration. Of several entries with one worker id the newest counts: the
// others are earlier runs, whose sessions have not expired yet.
func readView(owners []coord.Owner, workerID string, sessionID uint64) view {
	var v view
	newest := make(map[string]registration)
	var order []string
	for _, o := range owners {
		var r registration
		if err := json.Unmarshal(o.Data, &r); err != nil || r.Worker == "" {
			v.malformed++
			continue
		}
		if _, known := newest[r.Worker]; !known {
			order = append(order, r.Worker)
		}
		newest[r.Worker] = r
		if o.SessionID == sessionID {
			v.present = true
		} else if r.Worker == workerID && v.present {
			v.superseded = true
		}
	}
	for _, id := range order {
		if r := newest[id]; r.State == stateActive {
			v.members = append(v.members, Member{ID: id, Weight: r.Weight})
		}
	}
	return v
}

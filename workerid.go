package taskfleet

import (
	"crypto/rand"
	"fmt"
	"os"
)

// maxHost bounds the host's name in a worker id, which has at most 256 bytes.
const maxHost = 200

// defaultWorkerID names a worker after its host and process.
func defaultWorkerID() string {
	host, err := os.Hostname()
	if err != nil || host == "" || len(host) > maxHost {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%.6s", host, os.Getpid(), rand.Text())
}

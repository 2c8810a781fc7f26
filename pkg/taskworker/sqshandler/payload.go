package sqshandler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

const (
	fifoSuffix    = ".fifo"
	maxDelay      = 15 * time.Minute
	maxAttributes = 10
	maxID         = 128 // characters of a group or a deduplication id
)

// payload is what a task's payload asks for.
type payload struct {
	Queue      string            `json:"queue"`
	Body       json.RawMessage   `json:"body"`
	Attributes map[string]string `json:"attributes"`
	Delay      string            `json:"delay"`

	body  string
	delay int32 // seconds
}

// decode reads a payload. Its error names the field that is wrong.
func decode(text []byte, first string) (*payload, error) {
	p := &payload{}
	if err := delivery.Decode(text, p, false); err != nil {
		return nil, err
	}
	if p.Queue == "" {
		p.Queue = first
	}
	switch {
	case p.Body == nil:
		p.body = string(text)
	case p.Body[0] == '"':
		if err := json.Unmarshal(p.Body, &p.body); err != nil {
			return nil, fmt.Errorf("payload: body: %w", err)
		}
	default:
		p.body = string(p.Body)
	}
	if p.body == "" {
		return nil, errors.New("payload: body: must not be empty")
	}
	if len(p.Attributes) > maxAttributes {
		return nil, fmt.Errorf("payload: attributes: %d of them: must be at most %d", len(p.Attributes), maxAttributes)
	}
	for name, value := range p.Attributes {
		if name == "" || value == "" {
			return nil, errors.New("payload: attributes: names and values must not be empty")
		}
	}
	return p, p.setDelay()
}

func (p *payload) setDelay() error {
	if p.Delay == "" {
		return nil
	}
	d, err := time.ParseDuration(p.Delay)
	if err != nil || d < 0 || d > maxDelay {
		return fmt.Errorf("payload: delay %.40q: must be a duration such as \"10s\", 0..%s", p.Delay, maxDelay)
	}
	if strings.HasSuffix(p.Queue, fifoSuffix) && d > 0 {
		return errors.New("payload: delay: a FIFO queue has none of single messages")
	}
	p.delay = int32((d + time.Second - 1) / time.Second)
	return nil
}

// messageID makes a text fit for a group or a deduplication id: up to 128 letters,
// digits and marks. Different texts have different ids: one that looks like a
// digest is replaced by its own.
func messageID(text string) string {
	unfit := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if text != "" && len(text) <= maxID && !strings.ContainsFunc(text, unfit) && !digest.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var digest = regexp.MustCompile("^[0-9a-f]{64}$")

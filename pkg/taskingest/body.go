package taskingest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// contentType is the type of a request's body, without its parameters. It refuses
// encodings and charsets that are not as they are written.
func contentType(r *http.Request, allowed ...string) (string, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Encoding: must be identity")
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err == nil && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		for _, one := range allowed {
			if media == one {
				return media, nil
			}
		}
	}
	return "", refuse(http.StatusUnsupportedMediaType, "Content-Type: must be %s, in UTF-8", strings.Join(allowed, " or "))
}

// pace is how fast a body must come: as a whole within whole, and, after grace, at
// leastPace bytes a millisecond on average.
type pace struct {
	begin        time.Time
	whole, grace time.Duration
}

const leastPace = 16

// deadline is when more must have come of a body of which there are n bytes.
func (p pace) deadline(n int64) time.Time {
	return p.begin.Add(min(p.whole, p.grace+time.Duration(n/leastPace)*time.Millisecond))
}

// source is the body of a request. It ends when the client falls behind the pace,
// or when the request is evicted.
type source struct {
	body io.Reader
	pass *pass
	pace pace
	read int64
}

// Read reads what has come.
func (s *source) Read(b []byte) (int, error) {
	if !s.pass.readUntil(s.pace.deadline(s.read)) {
		return 0, errEvicted
	}
	n, err := s.body.Read(b)
	s.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && s.pass.evicted() {
		err = errEvicted
	}
	return n, err
}

// body is what was read of a request, in chunks. They count in its pass as they
// are allocated: the first is small, since no more may come, and each further one
// is at most as large as all before.
type body struct {
	chunks [][]byte
	size   int64 // of what they hold
	held   int64 // of the chunks
}

const (
	firstChunk = 4 << 10
	maxChunk   = 256 << 10
)

var errTooLarge = errors.New("the body is too large")

// fill reads a body of at most limit bytes.
func (b *body) fill(s *source, limit int64) error {
	for b.size < limit {
		room := min(max(b.size, firstChunk), maxChunk, limit-b.size)
		if err := s.pass.take(room); err != nil {
			return err
		}
		b.held += room
		chunk, err := readFull(s, make([]byte, room))
		b.chunks = append(b.chunks, chunk)
		b.size += int64(len(chunk))
		if err != nil {
			return err
		}
	}
	behind, err := readFull(s, make([]byte, 1))
	if len(behind) > 0 {
		return errTooLarge
	}
	return err
}

// readFull reads until the chunk is full. Unlike io.ReadFull it keeps the end of a
// body apart from one that breaks off.
func readFull(s *source, chunk []byte) ([]byte, error) {
	n := 0
	for n < len(chunk) {
		more, err := s.Read(chunk[n:])
		if n += more; err != nil {
			return chunk[:n], err
		}
	}
	return chunk, nil
}

// join makes one text of the chunks and lets them go.
func (b *body) join(p *pass) ([]byte, error) {
	if err := p.take(b.size); err != nil {
		return nil, err
	}
	text := make([]byte, 0, b.size)
	for _, chunk := range b.chunks {
		text = append(text, chunk...)
	}
	b.chunks = nil
	p.give(b.held)
	return text, nil
}

// maxDiscard is how much of a body that is too large is read and dropped: a
// client that is still sending sees the answer only then, not a reset.
const maxDiscard = 1 << 20

// readBody reads the body of a request, of at most limit bytes.
func readBody(r *http.Request, x *exchange, limit int64, pace pace) (*body, error) {
	s := &source{body: r.Body, pass: x.pass, pace: pace}
	defer func() { x.read = s.read }()
	b := &body{}
	expected := limit
	if r.ContentLength >= 0 {
		expected = min(limit, r.ContentLength)
	}
	err := errTooLarge
	if r.ContentLength <= limit {
		err = b.fill(s, expected)
	}
	var ofGate *answer
	switch {
	case errors.Is(err, io.EOF) && !x.pass.evicted():
		return b, nil
	case errors.Is(err, io.EOF):
		return nil, errEvicted
	case errors.As(err, &ofGate):
		return nil, ofGate
	case errors.Is(err, errTooLarge):
		_, _ = io.CopyN(io.Discard, s, maxDiscard)
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is too large: must have at most %d bytes", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse(http.StatusRequestTimeout, "the body took too long").closing()
	}
	return nil, refuse(http.StatusBadRequest, "the body could not be read").closing()
}

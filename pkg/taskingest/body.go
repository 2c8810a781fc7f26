package taskingest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
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

// maxDiscard is how much of a body that is too large is read and dropped: a
// client that is still sending sees the answer only then, not a reset.
const maxDiscard = 1 << 20

func discard(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, maxDiscard) }

// readBody reads a body of at most limit bytes. What it holds counts in the gate.
func readBody(w http.ResponseWriter, r *http.Request, p *pass, limit int64) ([]byte, error) {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "the body is too large: must have at most %d bytes", limit)
	if r.ContentLength > limit {
		discard(r)
		return nil, tooLarge
	}
	var body bytes.Buffer
	_, err := io.Copy(&body, &counted{http.MaxBytesReader(w, r.Body, limit), p})
	var ofSize *http.MaxBytesError
	var ofUs *answer
	switch {
	case err == nil:
		return body.Bytes(), nil
	case errors.As(err, &ofUs):
		return nil, ofUs
	case errors.As(err, &ofSize):
		discard(r)
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse(http.StatusRequestTimeout, "the body took too long")
	}
	return nil, refuse(http.StatusBadRequest, "the body could not be read")
}

// counted takes what it reads from a gate.
type counted struct {
	io.Reader
	pass *pass
}

// Read fails when the gate is full.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if !c.pass.take(int64(n)) {
		return 0, busy("bytes")
	}
	return n, err
}

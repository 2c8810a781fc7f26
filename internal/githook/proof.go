package githook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"
)

// ErrProof says that a delivery is not known to be genuine.
var ErrProof = errors.New("not genuine")

// Proof checks whether a delivery is genuine, against every secret, in a time that
// does not depend on which of them fits.
type Proof struct {
	header string
	want   []byte
	macs   []hash.Hash // of the body, one for each secret; none if the header was enough
}

// Proof reads the proof of a delivery from its header. Its error, which wraps
// ErrProof, says that the delivery is not genuine, whatever its body is.
func (s *Service) Proof(header http.Header, secrets [][]byte) (*Proof, error) {
	value := header.Get(s.proof)
	if value == "" {
		return nil, fmt.Errorf("%w: %s is missing: give the hook a secret", ErrProof, s.proof)
	}
	p := &Proof{header: s.proof}
	if s.isSecret {
		if !isOneOf(value, secrets) {
			return nil, p.refused()
		}
		return p, nil
	}
	signature, ok := strings.CutPrefix(strings.ToLower(value), s.prefix)
	var err error
	if p.want, err = hex.DecodeString(signature); !ok || err != nil || len(p.want) != sha256.Size {
		return nil, p.refused()
	}
	for _, secret := range secrets {
		p.macs = append(p.macs, hmac.New(sha256.New, secret))
	}
	if len(p.macs) == 0 {
		return nil, p.refused()
	}
	return p, nil
}

// isOneOf compares digests, so that not even the length can be measured.
func isOneOf(value string, secrets [][]byte) bool {
	got, ok := sha256.Sum256([]byte(value)), 0
	for _, secret := range secrets {
		want := sha256.Sum256(secret)
		ok |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return ok == 1
}

// NeedsBody reports whether Check depends on the body, which is to be written before.
func (p *Proof) NeedsBody() bool { return len(p.macs) > 0 }

// Write adds a part of the body.
func (p *Proof) Write(part []byte) {
	for _, mac := range p.macs {
		mac.Write(part)
	}
}

// Check reports by an error that wraps ErrProof that the delivery is not genuine.
func (p *Proof) Check() error {
	ok := !p.NeedsBody()
	for _, mac := range p.macs {
		ok = hmac.Equal(mac.Sum(nil), p.want) || ok
	}
	if !ok {
		return p.refused()
	}
	return nil
}

func (p *Proof) refused() error {
	return fmt.Errorf("%w: %s does not fit: the hook has another secret", ErrProof, p.header)
}

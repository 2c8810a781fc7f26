package httphandler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// signatures makes the value of webhook-signature: one for each secret. A secret
// that begins with whsec_ is base64 behind it, any other one counts as its bytes.
func signatures(secrets []string, id string, at time.Time, body []byte) (string, error) {
	made := make([]string, len(secrets))
	for i, secret := range secrets {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return "", errors.New("a secret that begins with whsec_ must be base64 behind it")
			}
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(body)
		made[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(made, " "), nil
}

// Package webhook signs requests as Standard Webhooks describes.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sign adds the headers webhook-id, webhook-timestamp and webhook-signature, with
// one v1 signature for each secret, so that receivers can change over from one to
// the next. A secret that begins with whsec_ is base64 behind it, any other one
// counts as its bytes. The error holds no secret.
func Sign(h http.Header, secrets []string, id string, at time.Time, body []byte) error {
	made := make([]string, len(secrets))
	for i, secret := range secrets {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return errors.New("a secret that begins with whsec_ must be base64 behind it")
			}
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(body)
		made[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", strings.Join(made, " "))
	return nil
}

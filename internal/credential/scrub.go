package credential

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// hidden stands where a secret stood.
const hidden = "[secret]"

// Scrub takes secrets out of a text, in the forms in which a server may have sent
// them back: as they are, escaped for URLs or JSON, and in base64.
func Scrub(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		quoted, _ := json.Marshal(secret)
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted[1 : len(quoted)-1]),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
			base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			text = strings.ReplaceAll(text, form, hidden)
		}
	}
	return text
}

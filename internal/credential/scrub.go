package credential

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// hidden stands where a secret stood.
const hidden = "[secret]"

// minCore is the least length of a piece of base64 that is looked for: shorter
// ones, of secrets of two or three bytes, stand in any text.
const minCore = 4

// Scrub takes secrets out of a text, in the forms in which a server may have sent
// them back: plain, in base64 or in hexadecimal, each of them as it is or escaped
// for URLs, JSON or HTML, up to twice.
func Scrub(text string, secrets ...string) string { return scrub(text, false, secrets) }

// ScrubStart scrubs the start of a longer text: what may be the start of a secret
// at its end is taken out too.
func ScrubStart(start string, secrets ...string) string { return scrub(start, true, secrets) }

func scrub(text string, goesOn bool, secrets []string) string {
	needles := formsOf(secrets)
	if len(needles) == 0 || text == "" {
		return text
	}
	var spans []span
	for _, v := range views(text) {
		for _, n := range needles {
			spans = append(spans, v.find(n, goesOn)...)
		}
	}
	return cover(text, spans)
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// cover replaces every run of touching spans by hidden.
func cover(text string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		run := spans[i]
		for ; i < len(spans) && spans[i].from <= run.to; i++ {
			run.to = max(run.to, spans[i].to)
		}
		out.WriteString(text[done:run.from] + hidden)
		done = run.to
	}
	return out.String() + text[done:]
}

// needle is a form of a secret. In base64, a character at either end may hold bits
// of the secret and of its neighbour: it is no part of the text, and taken out too.
type needle struct {
	text          string
	before, after int
	base64        bool
}

// formsOf returns the forms of secrets, in any of which one may be sent back.
func formsOf(secrets []string) (needles []needle) {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		lower := hex.EncodeToString([]byte(secret))
		needles = append(needles, needle{text: secret}, needle{text: lower}, needle{text: strings.ToUpper(lower)})
		for shift := range 3 {
			needles = append(needles, inBase64(secret, shift, base64.RawStdEncoding), inBase64(secret, shift, base64.RawURLEncoding))
		}
	}
	return slices.DeleteFunc(needles, func(n needle) bool { return n.base64 && len(n.text) < minCore })
}

// inBase64 returns the characters of a secret's base64 that do not depend on what
// stands beside it, when shift bytes modulo 3 stand in front.
func inBase64(secret string, shift int, encoding *base64.Encoding) needle {
	text := encoding.EncodeToString([]byte("\x00\x00"[:shift] + secret))
	first := (shift*8 + 5) / 6
	end := (shift + len(secret)) * 8 / 6
	n := needle{base64: true}
	if shift > 0 {
		n.before = 1
	}
	if end < len(text) {
		n.after = 1
	}
	n.text = text[min(first, end):end]
	return n
}

// find returns where a needle stands in the text that a view was made of.
func (v view) find(n needle, goesOn bool) (spans []span) {
	for from := 0; ; {
		at := strings.Index(v.text[from:], n.text)
		if at < 0 {
			break
		}
		begin, end := max(from+at-n.before, 0), min(from+at+len(n.text)+n.after, len(v.text))
		for n.base64 && end < len(v.text) && v.text[end] == '=' {
			end++
		}
		spans = append(spans, span{v.at[begin], v.at[end]})
		from += at + 1
	}
	if goesOn {
		spans = append(spans, v.start(n, len(v.text))...)
		spans = append(spans, v.start(n, v.whole)...)
	}
	return spans
}

// start returns where a needle begins that goes on behind a text's first bytes.
func (v view) start(n needle, end int) []span {
	for length := min(len(n.text)-1, end); length > 0; length-- {
		if begin := end - length; strings.HasPrefix(n.text, v.text[begin:end]) {
			return []span{{v.at[max(begin-n.before, 0)], v.at[len(v.text)]}}
		}
	}
	return nil
}

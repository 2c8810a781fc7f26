package types

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	microsecond = int64(1)
	second      = 1_000_000 * microsecond
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
	week        = 7 * day
)

var (
	dateUnits = []intervalUnit{{'W', week}, {'D', day}}
	timeUnits = []intervalUnit{{'H', hour}, {'M', minute}, {'S', second}}
)

type intervalUnit struct {
	letter byte
	micros int64
}

// parseInterval reads an ISO 8601 duration: an optional sign, P, weeks and
// days, then T with hours, minutes and seconds of up to six decimals. Units
// stand in this order, each at most once; months and years have no length.
func parseInterval(text string) (Value, error) {
	rest, negative := strings.CutPrefix(text, "-")
	rest, ok := strings.CutPrefix(rest, "P")
	if !ok {
		return NullValue, notA(Interval, text)
	}
	dates, times, hasTime := strings.Cut(rest, "T")
	total, ok := sumUnits(dates, dateUnits)
	if ok && hasTime {
		var n int64
		n, ok = sumUnits(times, timeUnits)
		total += n
	}
	if !ok || (dates == "" && times == "") || (hasTime && times == "") {
		return NullValue, notA(Interval, text)
	}
	if negative {
		total = -total
	}
	return checkedInt(Interval, total)
}

// sumUnits adds up number-letter pairs; each pair is below the range of an
// Interval, so that the few of them cannot overflow an int64.
func sumUnits(s string, units []intervalUnit) (total int64, ok bool) {
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return r >= 'A' })
		if end <= 0 {
			return 0, false
		}
		at := 0
		for at < len(units) && units[at].letter != s[end] {
			at++
		}
		if at == len(units) {
			return 0, false
		}
		n, ok := scaled(s[:end], units[at])
		if !ok {
			return 0, false
		}
		total, units, s = total+n, units[at+1:], s[end+1:]
	}
	return total, true
}

func scaled(number string, u intervalUnit) (int64, bool) {
	whole, fraction, hasFraction := strings.Cut(number, ".")
	if hasFraction && (u.letter != 'S' || fraction == "" || len(fraction) > 6) {
		return 0, false
	}
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || n > uint64(endOfTimestamp/u.micros) {
		return 0, false
	}
	total := int64(n) * u.micros
	if hasFraction {
		f, err := strconv.ParseUint((fraction + "000000")[:6], 10, 63)
		if err != nil {
			return 0, false
		}
		total += int64(f)
	}
	return total, true
}

func formatInterval(micros int64) string {
	if micros == 0 {
		return "PT0S"
	}
	var b strings.Builder
	n := uint64(micros)
	if micros < 0 {
		b.WriteByte('-')
		n = -n
	}
	b.WriteByte('P')
	if days := n / uint64(day); days > 0 {
		fmt.Fprintf(&b, "%dD", days)
	}
	n %= uint64(day)
	if n == 0 {
		return b.String()
	}
	b.WriteByte('T')
	for _, u := range timeUnits[:2] {
		if x := n / uint64(u.micros); x > 0 {
			fmt.Fprintf(&b, "%d%c", x, u.letter)
		}
		n %= uint64(u.micros)
	}
	if n > 0 {
		s := fmt.Sprintf("%d.%06d", n/uint64(second), n%uint64(second))
		b.WriteString(strings.TrimRight(strings.TrimRight(s, "0"), "."))
		b.WriteByte('S')
	}
	return b.String()
}

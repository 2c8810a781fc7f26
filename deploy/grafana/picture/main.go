// Command picture draws panels of the dashboards from a running Prometheus, as
// SVG: the picture in the documentation, for those who have no Grafana at hand.
//
//	go run ./picture -prometheus http://localhost:9091 -out ../../docs/img/dashboard.svg
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// shown are the panels of the picture: board and title.
var shown = [][2]string{
	{"fleet", "Partitions per worker"},
	{"flow", "In and out"},
	{"flow", "Backlog by state"},
	{"flow", "Latency: from due to started"},
	{"outcomes", "HTTP answers by code"},
	{"ydb", "Conflict rate over time"},
	{"ydb", "Request units by operation"},
	{"producer", "Target and observed rate"},
}

func main() {
	server := flag.String("prometheus", "http://localhost:9090", "address of Prometheus")
	out := flag.String("out", "dashboard.svg", "file to write")
	span := flag.Duration("span", 3*time.Minute, "how much time to show")
	flag.Parse()
	if err := draw(*server, *out, *span); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(server, out string, span time.Duration) error {
	const rows = 4
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">`+"\n", 2*width+3*gap, rows*height+(rows+1)*gap)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="#111217"/>`)
	for i, s := range shown {
		p, err := find(s[0], s[1])
		if err != nil {
			return err
		}
		var lines []line
		for _, t := range p.Targets {
			read, err := query(server, t.Expr, t.LegendFormat, span)
			if err != nil {
				return fmt.Errorf("%s: %w", s[1], err)
			}
			lines = append(lines, read...)
		}
		p.draw(&b, gap+i%2*(width+gap), gap+i/2*(height+gap), lines, span)
	}
	fmt.Fprintln(&b, `</svg>`)
	return os.WriteFile(out, []byte(b.String()), 0o644)
}

// panel is what is read of a committed dashboard.
type panel struct {
	Title   string
	Targets []struct{ Expr, LegendFormat string }

	FieldConfig struct {
		Defaults struct {
			Unit   string
			Custom struct {
				Stacking struct{ Mode string }
			}
			Thresholds struct {
				Steps []struct {
					Value *float64
					Color string
				}
			}
		}
	}
}

func find(board, title string) (panel, error) {
	text, err := os.ReadFile(filepath.Join("dashboards", board+".json"))
	if err != nil {
		return panel{}, err
	}
	var read struct{ Panels []panel }
	if err := json.Unmarshal(text, &read); err != nil {
		return panel{}, err
	}
	for _, p := range read.Panels {
		if p.Title == title {
			return p, nil
		}
	}
	return panel{}, fmt.Errorf("dashboard %s has no panel %q", board, title)
}

// line is one series: values at even times, NaN where there is none.
type line struct {
	name   string
	values []float64
}

const points = 90

func query(server, expression, legend string, span time.Duration) ([]line, error) {
	end := time.Now()
	step := span / points
	expression = strings.NewReplacer("$fleet", ".*", "$__rate_interval", "10s").Replace(expression)
	response, err := http.Get(server + "/api/v1/query_range?" + url.Values{
		"query": {expression}, "step": {fmt.Sprint(step.Seconds())},
		"start": {fmt.Sprint(end.Add(-span).Unix())}, "end": {fmt.Sprint(end.Unix())},
	}.Encode())
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	var lines []line
	for _, r := range answer.Data.Result {
		l := line{name: legend, values: make([]float64, points+1)}
		for label, value := range r.Metric {
			l.name = strings.ReplaceAll(l.name, "{{"+label+"}}", value)
		}
		for i := range l.values {
			l.values[i] = math.NaN()
		}
		for _, v := range r.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			i := int(math.Round((at - float64(end.Add(-span).Unix())) / step.Seconds()))
			if value, err := strconv.ParseFloat(text, 64); err == nil && i >= 0 && i <= points {
				l.values[i] = value
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// The sizes of a panel, in pixels.
const (
	width, height = 470, 210
	gap           = 10
	left, right   = 58, 12
	top, bottom   = 34, 50
)

var colors = []string{"#73BF69", "#F2CC0C", "#5794F2", "#FF9830", "#F2495C", "#B877D9", "#8AB8FF", "#FFCB7D", "#96D98D", "#CA95E5"}

var named = map[string]string{"green": "#73BF69", "yellow": "#F2CC0C", "red": "#F2495C"}

// draw writes a panel with its upper left corner at x, y.
func (p panel) draw(b *strings.Builder, x, y int, lines []line, span time.Duration) {
	defaults := p.FieldConfig.Defaults
	stacked := defaults.Custom.Stacking.Mode == "normal"
	below := make([]float64, points+1)
	shown := make([][]float64, len(lines))
	most := 0.0
	for i, l := range lines {
		shown[i] = make([]float64, points+1)
		for j, v := range l.values {
			shown[i][j] = v
			if stacked && !math.IsNaN(v) {
				below[j] += v
				shown[i][j] = below[j]
			}
			if shown[i][j] > most {
				most = shown[i][j]
			}
		}
	}
	for _, s := range defaults.Thresholds.Steps {
		if s.Value != nil {
			most = max(most, *s.Value)
		}
	}
	most = round(most)
	px := func(j int) float64 { return float64(x+left) + float64(j)*float64(width-left-right)/points }
	py := func(v float64) float64 { return float64(y+height-bottom) - v/most*float64(height-top-bottom) }

	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="#181b1f" stroke="#2c3235"/>`+"\n", x, y, width, height)
	text(b, float64(x+12), float64(y+20), 13, "#d8d9da", "start", p.Title)
	for i := range 5 {
		v := most * float64(i) / 4
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#2c3235"/>`+"\n", x+left, py(v), x+width-right)
		text(b, float64(x+left-6), py(v)+4, 10, "#8e8e8e", "end", format(v, defaults.Unit))
	}
	for _, ago := range []float64{1, 0.5, 0} {
		label, anchor := fmt.Sprintf("-%.0f s", ago*span.Seconds()), "middle"
		if ago == 0 {
			label, anchor = "now", "end"
		}
		text(b, px(int(math.Round((1-ago)*points))), float64(y+height-bottom+14), 10, "#8e8e8e", anchor, label)
	}
	for i := len(lines) - 1; i >= 0; i-- { // the lowest area of a stack last
		color := colors[i%len(colors)]
		path, pen := "", "M"
		for j, v := range shown[i] {
			if math.IsNaN(v) {
				pen = "M"
				continue
			}
			path += fmt.Sprintf("%s%.1f %.1f", pen, px(j), py(v))
			pen = "L"
		}
		if stacked && path != "" && !strings.Contains(path[1:], "M") {
			fmt.Fprintf(b, `<path d="%sV%.1fH%.1fZ" fill="%s" fill-opacity=".3"/>`+"\n", path, py(0), px(first(shown[i])), color)
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path, color)
	}
	for _, s := range defaults.Thresholds.Steps {
		if s.Value != nil {
			fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="%s" stroke-dasharray="6 4"/>`+"\n", x+left, py(*s.Value), x+width-right, named[s.Color])
		}
	}
	at := float64(x + 12)
	for i, l := range lines {
		needed := float64(22 + 6*len(l.name))
		if at+needed > float64(x+width) {
			break
		}
		fmt.Fprintf(b, `<rect x="%.0f" y="%d" width="10" height="4" fill="%s"/>`+"\n", at, y+height-18, colors[i%len(colors)])
		text(b, at+14, float64(y+height-12), 10, "#c7c7c7", "start", l.name)
		at += needed
	}
}

// first is the first place with a value.
func first(values []float64) int {
	for i, v := range values {
		if !math.IsNaN(v) {
			return i
		}
	}
	return 0
}

func text(b *strings.Builder, x, y float64, size int, color, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-size="%d" fill="%s" text-anchor="%s">%s</text>`+"\n", x, y, size, color, anchor, html.EscapeString(s))
}

// round is the next number that divides well.
func round(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 2.5, 4, 5, 8, 10} {
		if v <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

func format(v float64, unit string) string {
	number := fmt.Sprintf("%.4g", v)
	switch unit {
	case "percentunit":
		return fmt.Sprintf("%.3g %%", 100*v)
	case "ops":
		return number + "/s"
	case "s":
		if v < 1 && v > 0 {
			return fmt.Sprintf("%.4g ms", 1000*v)
		}
		return number + " s"
	}
	return number
}

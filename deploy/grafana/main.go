// Command grafana writes taskfleet's dashboards as JSON.
//
//	go run . -out dashboards            write them
//	go run . -out dashboards -check     tell which are not as they would be written
//
// A dashboard is a list of panels in a file of its own; what they have in common
// is in build.go. Grafana reads the JSON by provisioning, or by import.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("grafana", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "dashboards", "folder of the JSON files")
	check := flags.Bool("check", false, "write nothing; exit with 1 when a file is not up to date")
	if flags.Parse(args) != nil {
		return 2
	}
	code := 0
	for _, b := range boards() {
		text, err := render(b)
		if err != nil {
			fmt.Fprintln(stderr, "grafana:", err)
			return 1
		}
		file := filepath.Join(*out, b.name+".json")
		if *check {
			if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, text) {
				fmt.Fprintf(stderr, "grafana: %s is not up to date: run `make generate`\n", file)
				code = 1
			}
			continue
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			fmt.Fprintln(stderr, "grafana:", err)
			return 1
		}
		fmt.Fprintln(stdout, file)
	}
	return code
}

// boards lists all dashboards.
func boards() []board { return []board{fleet, flow, outcomes, database, producer} }

// render is the JSON of a dashboard as it is committed.
func render(b board) ([]byte, error) {
	built, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("building dashboard %s: %w", b.name, err)
	}
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing dashboard %s: %w", b.name, err)
	}
	return append(text, '\n'), nil
}

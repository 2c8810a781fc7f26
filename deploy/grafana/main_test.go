package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommittedDashboardsAreUpToDate(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-check"}, &stdout, &stderr), stderr.String())
	files, err := filepath.Glob("dashboards/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(boards()), "a file that no dashboard writes")
}

func TestCheckTellsWhatIsNotUpToDate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-out", dir}, &stdout, &stderr))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flow.json"), []byte("{}"), 0o644))
	require.Equal(t, 1, run([]string{"-out", dir, "-check"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "flow.json is not up to date")
	require.Equal(t, 2, run([]string{"-nonsense"}, &stdout, &stderr))
}

// TestPanelsUseMetricsThatExist: the list of metrics is generated from the code.
func TestPanelsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	for _, b := range boards() {
		for _, p := range b.panels {
			for _, q := range p.queries {
				for _, name := range regexp.MustCompile(`taskfleet_\w+`).FindAllString(q.expr, -1) {
					base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
					require.Contains(t, string(list), "`"+base+"`", "%s: %s", b.name, p.title)
				}
			}
		}
	}
}

// TestDashboardsAreWhatGrafanaReads: the parts of the schema that an import
// refuses, or shows nothing, without.
func TestDashboardsAreWhatGrafanaReads(t *testing.T) {
	t.Parallel()
	uids := map[string]bool{}
	for _, b := range boards() {
		text, err := render(b)
		require.NoError(t, err)
		var read struct {
			UID           string `json:"uid"`
			Title         string `json:"title"`
			SchemaVersion int    `json:"schemaVersion"`
			Templating    struct {
				List []struct{ Name, Type string } `json:"list"`
			} `json:"templating"`
			Panels []struct {
				ID          int
				Type        string
				Title       string
				Description string
				Datasource  struct{ Type, UID string }
				GridPos     struct{ X, Y, W, H int }
				FieldConfig struct {
					Defaults struct{ Unit string }
				}
				Targets []struct{ Expr, RefID, LegendFormat string }
			} `json:"panels"`
		}
		require.NoError(t, json.Unmarshal(text, &read))
		require.False(t, uids[read.UID], read.UID)
		uids[read.UID] = true
		require.Positive(t, read.SchemaVersion)
		require.Len(t, read.Templating.List, 2)
		taken := map[[2]int]string{}
		for _, p := range read.Panels {
			require.NotEmpty(t, p.Description, p.Title)
			require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
			require.Equal(t, "prometheus", p.Datasource.Type)
			require.Equal(t, "$datasource", p.Datasource.UID)
			require.NotEmpty(t, p.Targets)
			for _, target := range p.Targets {
				require.NotEmpty(t, target.Expr, p.Title)
				require.NotEmpty(t, target.RefID, p.Title)
			}
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					require.Less(t, at[0], columns)
					require.Empty(t, taken[at], "%s: %s lies on it", b.name, p.Title)
					taken[at] = p.Title
				}
			}
		}
	}
}

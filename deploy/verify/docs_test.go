package verify

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

// TestLinksOfTheDocumentation: every link to a file or a heading of this
// repository leads somewhere.
func TestLinksOfTheDocumentation(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", root, "ls-files", "*.md").Output()
	require.NoError(t, err)
	files := strings.Fields(string(out))
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(found[1], "#")
			target := filepath.Join(root, filepath.Dir(file), path)
			if path == "" {
				target = filepath.Join(root, file)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s: %s", file, found[1])
			if anchor != "" {
				require.Contains(t, anchors(t, target), anchor, "%s: %s", file, found[1])
			}
		}
	}
}

// anchors lists the anchors that a Markdown file has for its headings.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []string
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		name := strings.ToLower(found[1])
		name = regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(name, "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// TestEveryAlertHasARunbookEntry: with what it means, where to look first, causes
// and actions; and the annotation leads there.
func TestEveryAlertHasARunbookEntry(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../prometheus/rules.yml")
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert               string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	runbook, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	alerts := map[string]bool{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			alerts[rule.Alert] = true
			require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
			for _, name := range []string{"summary", "description"} {
				require.NotEmpty(t, rule.Annotations[name], rule.Alert)
			}
			require.True(t, strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/runbook.md#"+strings.ToLower(rule.Alert)), rule.Alert)
			_, entry, found := strings.Cut(string(runbook), "\n## "+rule.Alert+"\n")
			require.True(t, found, "no entry for %s", rule.Alert)
			entry, _, _ = strings.Cut(entry, "\n## ")
			for _, part := range []string{"**Meaning.**", "**First look.**", "**Causes.**", "**Actions.**"} {
				require.Contains(t, entry, part, rule.Alert)
			}
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^## (Taskfleet\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		require.True(t, alerts[found[1]], "an entry for an alert that is not there: %s", found[1])
	}
}

package verify

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const composeFile = "../compose/compose.yaml"

// loadCompose loads the file as Docker Compose does: its schema, its references,
// its consistency.
func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	details := types.ConfigDetails{
		WorkingDir:  "../compose",
		ConfigFiles: []types.ConfigFile{{Filename: composeFile}},
		Environment: types.Mapping{},
	}
	project, err := loader.LoadWithContext(t.Context(), details)
	require.NoError(t, err)
	return project
}

func TestCompose(t *testing.T) {
	t.Parallel()
	project := loadCompose(t)
	for _, name := range []string{"ydb", "migrate", "worker", "producer", "prometheus", "grafana"} {
		require.Contains(t, project.Services, name)
	}
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				_, err := os.Stat(volume.Source)
				require.NoError(t, err, name)
			}
		}
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s: for this machine only", name)
		}
		if service.Image != "taskfleet" {
			continue
		}
		command := strings.Join(service.Command, " ")
		program := service.Command[0]
		if program == "taskctl" {
			program += " " + service.Command[1]
		}
		for _, word := range service.Command {
			if strings.HasPrefix(word, "--") {
				require.Contains(t, flagsOf(t, program), word, command)
			}
		}
	}
	for _, scraped := range []string{"worker", "producer"} {
		require.Contains(t, strings.Join(project.Services[scraped].Command, " "), "--metrics-addr :9090",
			"%s: by default other containers do not reach the metrics", scraped)
	}
	require.Equal(t, "service_completed_successfully", project.Services["worker"].DependsOn["migrate"].Condition)
	grace := project.Services["worker"].StopGracePeriod
	require.NotNil(t, grace)
	require.GreaterOrEqual(t, time.Duration(*grace).Seconds(), float64(30+workerStopMargin(t)))
}

// TestGrafanaFindsWhatComposeMounts: the folders in the provisioning files are
// those that the dashboards are mounted to.
func TestGrafanaFindsWhatComposeMounts(t *testing.T) {
	t.Parallel()
	mounted := map[string]bool{}
	for _, volume := range loadCompose(t).Services["grafana"].Volumes {
		mounted[volume.Target] = true
	}
	text, err := os.ReadFile("../compose/grafana/dashboards.yaml")
	require.NoError(t, err)
	var provisioning struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal(text, &provisioning))
	require.Equal(t, 1, provisioning.APIVersion)
	require.True(t, mounted[provisioning.Providers[0].Options.Path])
}

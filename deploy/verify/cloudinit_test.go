package verify

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
	"go.yaml.in/yaml/v3"
)

// cloudConfig is the part of cloud-init's format that the template uses. Unknown
// keys are errors: cloud-init would ignore them without a word.
type cloudConfig struct {
	Users []struct {
		Name   string   `yaml:"name"`
		Groups []string `yaml:"groups"`
		Shell  string   `yaml:"shell"`
		Sudo   string   `yaml:"sudo"`
		Keys   []string `yaml:"ssh_authorized_keys"`
	} `yaml:"users"`
	WriteFiles []struct {
		Path        string `yaml:"path"`
		Permissions string `yaml:"permissions"`
		Content     string `yaml:"content"`
	} `yaml:"write_files"`
	RunCmd [][]string `yaml:"runcmd"`
}

// machineFiles renders the cloud-init of a role and returns its files by path.
func machineFiles(t *testing.T, role string, given map[string]cty.Value) (map[string]string, cloudConfig) {
	t.Helper()
	ctx, err := loadModule(t).evaluate(given)
	require.NoError(t, err)
	text := ctx.Variables["local"].GetAttr(role + "_user_data").AsString()
	require.True(t, strings.HasPrefix(text, "#cloud-config\n"), "cloud-init looks at the first line")
	require.NotContains(t, text, "${")
	var config cloudConfig
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&config), text)
	files := map[string]string{}
	for _, file := range config.WriteFiles {
		require.Regexp(t, `^/`, file.Path)
		require.Regexp(t, `^0[0-7]{3}$`, file.Permissions, "a text of digits, or YAML reads a number")
		require.NotEmpty(t, file.Content)
		files[file.Path] = file.Content
	}
	return files, config
}

func TestCloudInitOfEveryRole(t *testing.T) {
	t.Parallel()
	values := example(t)
	values["ssh_public_key"] = cty.StringVal("ssh-ed25519 AAAA \"me\"")
	values["producers"] = cty.ObjectVal(map[string]cty.Value{
		"size":      cty.NumberIntVal(1),
		"arguments": cty.TupleVal([]cty.Value{cty.StringVal("--target-url"), cty.StringVal("http://x/a b?c=%20&d=$HOME")}),
	})
	for _, role := range []string{"worker", "producer"} {
		files, config := machineFiles(t, role, values)
		require.Len(t, config.Users, 1)
		require.Equal(t, []string{"ssh-ed25519 AAAA \"me\""}, config.Users[0].Keys)
		require.Equal(t, [][]string{
			{"systemctl", "daemon-reload"},
			{"systemctl", "enable", "--now", "taskfleet.service", "taskfleet-agent.service"},
		}, config.RunCmd)
		for path, content := range files {
			if strings.HasPrefix(content, "#!/bin/sh\n") {
				command := exec.Command("sh", "-n")
				command.Stdin = strings.NewReader(content)
				out, err := command.CombinedOutput()
				require.NoError(t, err, "%s: %s", path, out)
			}
		}
		unit := parseUnit(t, files["/etc/systemd/system/taskfleet.service"])
		start := unit["Service.ExecStart"][0]
		require.Contains(t, start, " cr.yandex/yandex_container_repository/taskfleet/name:2026-12-01 "+role+" --endpoint grpcs://")
		require.Contains(t, start, " --cap-drop ALL ")
		for _, flag := range regexp.MustCompile(` "?(--[a-z-]+)`).FindAllStringSubmatch(start[strings.Index(start, role+" --endpoint"):], -1) {
			require.Contains(t, flagsOf(t, role), flag[1])
		}
		parseUnit(t, files["/etc/systemd/system/taskfleet-agent.service"])
	}
	files, _ := machineFiles(t, "producer", values)
	require.Contains(t, files["/etc/systemd/system/taskfleet.service"], `"--target-url" "http://x/a b?c=%%20\u0026d=$$HOME"`,
		"systemd expands % and $, and splits at blanks")
	delete(values, "ssh_public_key")
	_, config := machineFiles(t, "worker", values)
	require.Empty(t, config.Users)
}

// TestAStopIsGivenTheDrainAndWhatRecordingTakes: Docker's and systemd's patience
// follow from the drain timeout and from what the worker itself allows.
func TestAStopIsGivenTheDrainAndWhatRecordingTakes(t *testing.T) {
	t.Parallel()
	margin := workerStopMargin(t)
	for _, drain := range []int64{0, 30, 60} {
		files, _ := machineFiles(t, "worker", map[string]cty.Value{"drain_timeout": cty.NumberIntVal(drain)})
		unit := parseUnit(t, files["/etc/systemd/system/taskfleet.service"])
		text := strings.Join(unit["Service.ExecStart"], " ")
		require.Contains(t, text, `"--drain-timeout" "`+strconv.FormatInt(drain, 10)+`s"`)
		stop := number(t, `--time (\d+)`, unit["Service.ExecStop"][0])
		require.Equal(t, stop, number(t, `--stop-timeout (\d+)`, text))
		require.GreaterOrEqual(t, stop, int(drain)+margin)
		require.Greater(t, number(t, `(\d+)`, unit["Service.TimeoutStopSec"][0]), stop)
	}
}

// workerStopMargin reads how many seconds the worker allows itself beyond the drain.
func workerStopMargin(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("../../cmd/worker/main.go")
	require.NoError(t, err)
	return number(t, `stopMargin = (\d+) \* time\.Second`, string(text))
}

// TestAgentScrapesThisMachine: the agent's configuration is YAML after the
// machine's id was filled in, and its metric is what the group scales by.
func TestAgentScrapesThisMachine(t *testing.T) {
	t.Parallel()
	files, _ := machineFiles(t, "worker", example(t))
	require.Contains(t, files["/usr/local/bin/taskfleet-agent-config"], `sed "s/INSTANCE_ID/$id/"`)
	text := strings.ReplaceAll(files["/etc/taskfleet/unified-agent.yaml.in"], `"INSTANCE_ID"`, `"fhm1"`)
	var agent struct {
		Routes []struct {
			Input struct {
				Plugin string
				Config struct {
					URL, Namespace string
					Format         map[string]any
				}
			}
			Channel struct {
				Pipe []struct {
					Filter struct {
						Plugin string
						Config struct{ Labels []map[string]string }
					}
				}
				ChannelRef struct{ Name string } `yaml:"channel_ref"`
			}
		}
		Channels []struct{ Name string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &agent), text)
	route := agent.Routes[0]
	require.Equal(t, "metrics_pull", route.Input.Plugin)
	require.Equal(t, "http://127.0.0.1:9090/metrics", route.Input.Config.URL)
	require.Contains(t, route.Input.Config.Format, "prometheus")
	require.Equal(t, []map[string]string{{"fleet": "taskfleet"}, {"instance_id": "fhm1"}}, route.Channel.Pipe[0].Filter.Config.Labels)
	require.Equal(t, agent.Channels[0].Name, route.Channel.ChannelRef.Name)

	groups, err := os.ReadFile(moduleDir + "/groups.tf")
	require.NoError(t, err)
	metric := regexp.MustCompile(`metrics_namespace}\.(\w+)"`).FindSubmatch(groups)
	require.NotNil(t, metric)
	list, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	require.Contains(t, string(list), "`"+string(metric[1])+"`")
}

// parseUnit reads a systemd unit: values by Section.Key.
func parseUnit(t *testing.T, text string) map[string][]string {
	t.Helper()
	values, section := map[string][]string{}, ""
	for _, line := range strings.Split(text, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			require.Contains(t, []string{"Unit", "Service", "Install"}, section)
		default:
			key, value, ok := strings.Cut(line, "=")
			require.True(t, ok && section != "", "%q", line)
			values[section+"."+key] = append(values[section+"."+key], value)
			if strings.HasPrefix(key, "Exec") {
				require.Regexp(t, `^-?/`, value, "systemd wants an absolute path")
			}
		}
	}
	return values
}

func number(t *testing.T, pattern, text string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, "%s in %s", pattern, text)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// flagsOf lists the flags of a program, from the generated reference.
func flagsOf(t *testing.T, command string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+command+"\n")
	require.True(t, found, command)
	section, _, _ = strings.Cut(section, "\n## ")
	var flags []string
	for _, m := range regexp.MustCompile("\\| `(--[a-z-]+)").FindAllStringSubmatch(section, -1) {
		flags = append(flags, m[1])
	}
	require.NotEmpty(t, flags)
	return flags
}

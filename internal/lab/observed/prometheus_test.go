//go:build verify

package observed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prometheus is a running server.
type prometheus struct {
	t   *testing.T
	url string
	dir string
}

// startPrometheus starts a server that evaluates the committed rules every
// second. What it scrapes is told by scrape.
func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	require.NoError(t, err, "install Debian's package prometheus: make verify-tools")
	rules, err := filepath.Abs("../../../deploy/prometheus/rules.yml")
	require.NoError(t, err)
	p := &prometheus{t: t, dir: t.TempDir()}
	config := fmt.Sprintf(`
global: {scrape_interval: 500ms, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: taskfleet
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
`, rules)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "prometheus.yml"), []byte(config), 0o644))
	p.scrape(nil)
	address := freeAddress(t)
	p.url = "http://" + address
	var log bytes.Buffer
	command := exec.Command(program, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
		"--web.listen-address="+address, "--log.level=warn")
	command.Dir, command.Stderr, command.Stdout = p.dir, &log, &log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil || t.Failed() {
			t.Logf("prometheus: %v\n%s", err, log.String())
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond)
	return p
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// scrape sets what is scraped: addresses by the name of the process.
func (p *prometheus) scrape(addresses map[string]string) {
	p.t.Helper()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	for name, address := range addresses {
		groups = append(groups, group{[]string{address}, map[string]string{"instance": name, "fleet": "test"}})
	}
	text, err := json.Marshal(groups)
	require.NoError(p.t, err)
	file := filepath.Join(p.dir, "targets.json")
	require.NoError(p.t, os.WriteFile(file+".new", text, 0o644))
	require.NoError(p.t, os.Rename(file+".new", file))
}

// query evaluates an expression now and returns its figures; those that are no
// number, such as the quantile of nothing, are left out.
func (p *prometheus) query(expression string) ([]float64, error) {
	response, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" || answer.Data.ResultType != "vector" {
		return nil, fmt.Errorf("%s %s %s", answer.Status, answer.Data.ResultType, answer.Error)
	}
	var figures []float64
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
			figures = append(figures, v)
		}
	}
	return figures, nil
}

// eventually waits until an expression has the one value that is wanted.
func (p *prometheus) eventually(expression string, want float64) {
	p.t.Helper()
	var last []float64
	require.Eventually(p.t, func() bool {
		var err error
		last, err = p.query(expression)
		return err == nil && len(last) == 1 && last[0] == want
	}, patience, 200*time.Millisecond, "%s should be %v", expression, want)
}

package githook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Config is what a file says: which secrets the hooks have, and what follows from
// an event.
type Config struct {
	// Secrets by service. A service without one is not served.
	Secrets map[string][]SecretRef `yaml:"secrets"`
	// Rules make tasks, each that fits one. None: DefaultRules.
	Rules []*Rule `yaml:"rules"`
}

// SecretRef says where a secret is: in an environment variable or in a file, of
// which the newline at the end does not count.
type SecretRef struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// The environment variables that hold secrets when there is no file.
const (
	GitHubEnv = "TASKFLEET_GITHUB_SECRET"
	GitLabEnv = "TASKFLEET_GITLAB_TOKEN"
	GiteaEnv  = "TASKFLEET_GITEA_SECRET"
)

// DefaultRules are the rules of a file without rules, and without a file. They
// make no ci-trigger: only a file can say which pipeline that is.
const DefaultRules = `
# Everything that changes a branch or a tag, or moves a merge request on.
- name: push-event
  action: [created, updated, deleted, opened, reopened, closed, merged]
  kind: push-event
  priority: 100
`

// The bounds of a file.
const (
	maxConfig = 1 << 20 // bytes
	maxRules  = 100
)

// ReadFile reads a file of secrets and rules. Its errors name everything that is
// wrong.
func ReadFile(name string) (*Config, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("githook: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("must have at most %d bytes", maxConfig)
	}
	if err != nil {
		return nil, fmt.Errorf("githook: reading %s: %w", name, err)
	}
	config, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("githook: %s: %w", name, err)
	}
	return config, nil
}

// Parse reads the text of such a file.
func Parse(text []byte) (*Config, error) {
	var c Config
	if err := strict(text, &c); err != nil {
		return nil, err
	}
	if len(c.Rules) == 0 {
		c.Rules = defaultRules()
	}
	return &c, c.validate()
}

// Default is the config without a file: the default rules, and the secrets that
// the environment holds.
func Default(getenv func(string) string) *Config {
	c := &Config{Secrets: map[string][]SecretRef{}, Rules: defaultRules()}
	for service, env := range map[string]string{"github": GitHubEnv, "gitlab": GitLabEnv, "gitea": GiteaEnv} {
		if getenv(env) != "" {
			c.Secrets[service] = []SecretRef{{Env: env}}
		}
	}
	return c
}

func defaultRules() (rules []*Rule) {
	if err := strict([]byte(DefaultRules), &rules); err != nil {
		panic(err) // a constant, and tested
	}
	return rules
}

// strict decodes one document of YAML, of which every field must be known.
func strict(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("there is a second document")
	}
	return nil
}

func (c *Config) validate() error {
	var errs []error
	for service, refs := range c.Secrets {
		if Named(service) == nil {
			errs = append(errs, fmt.Errorf("secrets: %q: must be github, gitlab or gitea", service))
		}
		for i, ref := range refs {
			if (ref.Env == "") == (ref.File == "") {
				errs = append(errs, fmt.Errorf("secrets: %s %d: must have either env or file", service, i+1))
			}
		}
	}
	if len(c.Rules) > maxRules {
		errs = append(errs, fmt.Errorf("%d rules: must be at most %d", len(c.Rules), maxRules))
	}
	seen := map[string]bool{}
	for i, rule := range c.Rules {
		if rule == nil {
			errs = append(errs, fmt.Errorf("rule %d: is empty", i+1))
			continue
		}
		if err := rule.validate(); err != nil {
			errs = append(errs, fmt.Errorf("rule %d: %w", i+1, err))
		}
		if seen[rule.Name] {
			errs = append(errs, fmt.Errorf("rule %d: there is another rule %q", i+1, rule.Name))
		}
		seen[rule.Name] = true
	}
	return errors.Join(errs...)
}

// Resolve reads the secrets, by service. Its errors name where a secret should be
// and never hold one.
func (c *Config) Resolve(getenv func(string) string) (map[string][][]byte, error) {
	secrets := map[string][][]byte{}
	var errs []error
	for service, refs := range c.Secrets {
		for _, ref := range refs {
			secret, err := ref.read(getenv)
			if err != nil {
				errs = append(errs, fmt.Errorf("githook: secret of %s: %w", service, err))
				continue
			}
			secrets[service] = append(secrets[service], secret)
		}
	}
	return secrets, errors.Join(errs...)
}

func (r SecretRef) read(getenv func(string) string) ([]byte, error) {
	if r.Env != "" {
		if secret := getenv(r.Env); secret != "" {
			return []byte(secret), nil
		}
		return nil, fmt.Errorf("the environment variable %s is not set", r.Env)
	}
	text, err := os.ReadFile(r.File)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 {
		return nil, fmt.Errorf("%s is empty", r.File)
	}
	return text, nil
}

// Named returns a service, nil if there is none of that name.
func Named(name string) *Service {
	for _, s := range Services {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Tasks returns the tasks that follow from an event, one of each rule that fits.
func (c *Config) Tasks(e *Event) ([]task.Task, error) {
	var tasks []task.Task
	for _, rule := range c.Rules {
		if !rule.fits(e) {
			continue
		}
		t, err := rule.task(e)
		if err != nil {
			return nil, fmt.Errorf("githook: rule %s: %w", rule.Name, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

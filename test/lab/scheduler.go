// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// KubeSchedulerUser is the user that a cluster's own roles let be a scheduler.
const KubeSchedulerUser = "system:kube-scheduler"

// schedulerTimeout bounds the time from a scheduler's start to its readiness,
// one to two seconds on an idle machine.
const schedulerTimeout = 90 * time.Second

// SchedulerOptions configures StartScheduler. The zero value is the stock
// scheduler with its default profile.
type SchedulerOptions struct {
	// Name distinguishes the schedulers of a cluster: it names the log and the
	// files that are made for one. A name that is used again continues its log.
	// Default: kube-scheduler.
	Name string
	// Binary is the scheduler's executable. Empty means the stock scheduler,
	// which is this executable started again: its main function must call
	// MainHook.
	Binary string
	// ConfigYAML is a KubeSchedulerConfiguration. Its clientConnection is
	// completed: kubeconfig, and no rate limit unless there is one.
	// Default: the stock profile without leader election.
	ConfigYAML string
	// Kubeconfig is what the scheduler connects with. Default: a certificate
	// for KubeSchedulerUser.
	Kubeconfig string
	// Args follow the flags made from the fields above.
	Args []string
	// LogPath is where the scheduler's output goes. Default: Name.log in the
	// cluster's LogDir.
	LogPath string
}

// Scheduler is a scheduler running as a child process.
type Scheduler struct {
	*Process
	// URL is where it serves /healthz, /readyz, /metrics and the like.
	URL    string
	client *http.Client
}

const stockConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
`

// StartScheduler starts a scheduler and returns when it answers /readyz, which
// it does once its caches are filled, leader or not. The scheduler is stopped
// when the cluster is or ctx ends. The error for one that doesn't
// become ready has the end of its log.
func (c *Cluster) StartScheduler(ctx context.Context, opts SchedulerOptions) (*Scheduler, error) {
	if opts.Name == "" {
		opts.Name = "kube-scheduler"
	}
	s, err := c.startScheduler(opts)
	if err != nil {
		return nil, fmt.Errorf("start scheduler %q: %w", opts.Name, err)
	}
	stop := s.Stop
	if !c.onStop(stop) {
		return nil, fmt.Errorf("start scheduler %q: %w", opts.Name, errors.Join(errStopped, stop()))
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, fmt.Errorf("start scheduler %q: %w", opts.Name, errors.Join(err, stop()))
	}
	context.AfterFunc(ctx, func() { _ = stop() })
	return s, nil
}

func (c *Cluster) startScheduler(opts SchedulerOptions) (*Scheduler, error) {
	if opts.LogPath == "" {
		opts.LogPath = filepath.Join(c.LogDir, opts.Name+".log")
	}
	if opts.Kubeconfig == "" {
		var err error
		if opts.Kubeconfig, err = c.UserKubeconfig(KubeSchedulerUser); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(opts.Binary)
	if opts.Binary == "" {
		var err error
		if cmd, err = stockCommand(); err != nil {
			return nil, err
		}
	}
	configFile := filepath.Join(c.dir, opts.Name+".yaml")
	if err := writeSchedulerConfig(configFile, opts.ConfigYAML, opts.Kubeconfig); err != nil {
		return nil, err
	}
	certFile, keyFile, err := c.ca.issueServing(c.dir, opts.Name)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args,
		"--config="+configFile,
		"--authentication-kubeconfig="+opts.Kubeconfig,
		"--authorization-kubeconfig="+opts.Kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port="+port,
		"--tls-cert-file="+certFile,
		"--tls-private-key-file="+keyFile,
	)
	cmd.Args = append(cmd.Args, opts.Args...)
	client, err := c.schedulerClient()
	if err != nil {
		return nil, err
	}
	process, err := startProcess(cmd, opts.LogPath)
	if err != nil {
		return nil, err
	}
	return &Scheduler{Process: process, URL: "https://127.0.0.1:" + port, client: client}, nil
}

// schedulerClient makes requests as the cluster's administrator, whom a
// scheduler recognises by the client CA that it reads from the API server. It
// trusts the cluster's own authority only: another process that took the port
// is not mistaken for the scheduler.
func (c *Cluster) schedulerClient() (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(c.Config)
	if err != nil {
		return nil, err
	}
	// No connection is kept: a scheduler would wait for it when it stops.
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}}, nil
}

// Get returns what the scheduler answers at path, "/metrics" for example. An
// answer other than 200 is an error.
func (s *Scheduler) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: status %d, want 200: %s", path, resp.StatusCode, strings.TrimSpace(string(body)))
	}
	return body, nil
}

func (s *Scheduler) waitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, schedulerTimeout, true, func(ctx context.Context) (bool, error) {
		if !s.Alive() {
			return false, fmt.Errorf("ended before it was ready: %w", errors.Join(s.err, errors.New(s.LogTail())))
		}
		_, last = s.Get(ctx, "/readyz")
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("not ready: %w (%w); %s", err, last, s.LogTail())
	}
	return err
}

// writeSchedulerConfig completes a KubeSchedulerConfiguration with what it
// takes to connect. Flags cannot do this: next to --config they are ignored.
func writeSchedulerConfig(file, config, kubeconfig string) error {
	if config == "" {
		config = stockConfig
	}
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(config), &doc); err != nil {
		return fmt.Errorf("scheduler configuration: %w", err)
	}
	connection, _ := doc["clientConnection"].(map[string]any)
	if connection == nil {
		connection = map[string]any{}
	}
	connection["kubeconfig"] = kubeconfig
	if _, limited := connection["qps"]; !limited {
		connection["qps"], connection["burst"] = 5000, 10000
	}
	doc["clientConnection"] = connection
	out, err := yaml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("scheduler configuration: %w", err)
	}
	return os.WriteFile(file, out, 0o600)
}

// freePort returns a loopback port that nothing listens on now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

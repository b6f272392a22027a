// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/lab"
)

// What TestMain makes for all tests.
var (
	cluster   *lab.Cluster
	scheduler string // path of the berth-scheduler binary
	// team-pools in two builds: the same source under other versions.
	modules = map[string][]byte{}
)

const (
	v1 = "1.0.0-e2e"
	v2 = "2.0.0-e2e"
)

func TestMain(m *testing.M) {
	lab.MainHook()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	scheduler = filepath.Join(dir, "berth-scheduler")
	if err := goBuild(nil, "-o", scheduler, "../../cmd/berth-scheduler"); err != nil {
		return 0, err
	}
	for _, version := range []string{v1, v2} {
		file := filepath.Join(dir, version+".wasm")
		err := goBuild([]string{"GOOS=wasip1", "GOARCH=wasm"}, "-trimpath", "-buildmode=c-shared",
			"-ldflags=-s -w -X github.com/berth-scheduler/berth/guest-sdk/go.BuildVersion="+version, "-o", file, "../../examples/team-pools")
		if err != nil {
			return 0, err
		}
		if modules[version], err = os.ReadFile(file); err != nil {
			return 0, err
		}
	}
	cluster, err = lab.Start(context.Background(), lab.Options{LogDir: os.Getenv("E2E_LOG_DIR"), Workloads: true})
	if err != nil {
		return 0, err
	}
	code := 1
	if err = prepare(); err == nil {
		code = m.Run()
	}
	if stop := cluster.Stop(); err == nil {
		err = stop
	}
	return code, err
}

// prepare makes the nodes that all tests share: six pools of five nodes.
func prepare() error {
	ctx := context.Background()
	nodes := lab.Nodes("node", 30, lab.Zones("zone-a", "zone-b", "zone-c"),
		lab.Label("berth.dev/pool", "pool-a", "pool-b", "pool-c", "pool-d", "shared", "reserve"))
	if err := cluster.CreateNodes(ctx, nodes); err != nil {
		return err
	}
	return cluster.StartKubelet(lab.KubeletOptions{})
}

func goBuild(env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/berth-scheduler/berth/host/buildtags"
)

//go:embed wat/*.wasm
var handmade embed.FS

// handmadeGuest is the module of wat/NAME.wat.
func handmadeGuest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := handmade.ReadFile("wat/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Guests in Go, by the name under which tests ask for them. What describe says
// is fixed when a module is linked.
const (
	chameleon     = "chameleon"      // not pure, scores as they are
	chameleonMax  = "chameleon-max"  // not pure, scaled by the highest score
	chameleonPure = "chameleon-pure" // pure, scores as they are
	// chameleonBlind reads no section of nodes: changes of theirs can't help it.
	chameleonBlind = "chameleon-blind"
	stateful       = "stateful"
	nodesets       = "nodesets"
	placer         = "placer"
	preemptor      = "preemptor"
	binder         = "binder"
	queueing       = "queueing"
)

var builds = map[string]func() ([]byte, error){
	chameleon:      buildOnce("chameleon", ""),
	chameleonMax:   buildOnce("chameleon", "-X main.normalize=max"),
	chameleonPure:  buildOnce("chameleon", "-X main.pure=yes"),
	chameleonBlind: buildOnce("chameleon", "-X main.blind=yes"),
	stateful:       buildOnce("stateful", ""),
	nodesets:       buildOnce("nodesets", ""),
	placer:         buildOnce("placer", ""),
	preemptor:      buildOnce("preemptor", ""),
	binder:         buildOnce("binder", ""),
	queueing:       buildOnce("queueing", ""),
}

// goGuest builds a guest, once a process.
func goGuest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := builds[name]()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func buildOnce(folder, flags string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		return buildModule("github.com/berth-scheduler/berth/test/conformance/guests/"+folder, flags)
	})
}

// buildModule compiles a package main to a reactor, as berth build does.
func buildModule(pkg, flags string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "berth-guest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out := filepath.Join(dir, "guest.wasm")
	tags, err := buildtags.For(context.Background(), ".", pkg, "")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-tags", tags, "-ldflags=-s -w "+flags, "-buildmode=c-shared", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return os.ReadFile(out)
}

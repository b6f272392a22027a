// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2/ktesting"
)

func write(t *testing.T, content []byte, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file beside and renames it.
func replace(t *testing.T, content []byte, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	write(t, content, filepath.Dir(file), ".tmp")
	if err := os.Rename(filepath.Join(filepath.Dir(file), ".tmp"), file); err != nil {
		t.Fatal(err)
	}
}

// link points path to target, replacing a link that is there in one step.
func link(t *testing.T, target string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.Symlink(target, file+".tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		t.Fatal(err)
	}
}

func has(content string) func(Document) bool {
	return func(d Document) bool { return d.Err == nil && d.ModuleDigest == Digest(module(content)) }
}

func TestDirectory(t *testing.T) {
	root := t.TempDir()
	write(t, []byte(policyHead), root, "p", PolicyFile)
	write(t, module("a"), root, "p", ModuleFile)
	write(t, []byte("x"), root, ".git", "config")
	write(t, []byte("x"), root, "README.md")
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	sink := run(t, NewDirectory(root))
	if d := sink.wantSet("file/p"); !has("a")(d) || d.Name != "p" || d.Ref != nil {
		t.Fatalf("want module a, got %+v", d)
	}

	replace(t, module("b"), root, "p", ModuleFile)
	if d := sink.wantSet("file/p"); !has("b")(d) {
		t.Fatalf("renamed over: want module b, got %v, %s", d.Err, d.ModuleDigest)
	}
	write(t, module("c"), root, "p", ModuleFile)
	sink.until("file/p", has("c"))

	write(t, []byte(policyHead+"weight: 5\n"), root, "p", PolicyFile)
	sink.until("file/p", func(d Document) bool { return d.Err == nil && d.Policy.Weight == 5 })

	replace(t, []byte(policyHead+"wait: 5\n"), root, "p", PolicyFile)
	if d := sink.wantSet("file/p"); d.Err == nil || !strings.Contains(d.Err.Error(), `unknown field "wait"`) {
		t.Fatalf("want the unknown field named, got %v", d.Err)
	}

	write(t, Gzip(module("d")), root, "q", ModuleFileGz)
	write(t, []byte(policyHead), root, "q", PolicyFile)
	sink.until("file/q", has("d"))

	if err := os.RemoveAll(filepath.Join(root, "q")); err != nil {
		t.Fatal(err)
	}
	for deleted := ""; deleted != "file/q"; { // errors about missing files may come before
		deleted = sink.next().deleted
	}
	write(t, []byte(policyHead), root, "q", PolicyFile)
	write(t, module("e"), root, "q", ModuleFile)
	sink.until("file/q", has("e"))
}

// A volume of a ConfigMap is a directory of links through a link that is swapped.
func TestDirectoryOfVolume(t *testing.T) {
	root := t.TempDir()
	volume := filepath.Join(root, "p")
	write(t, []byte(policyHead), volume, "..1", PolicyFile)
	write(t, module("a"), volume, "..1", ModuleFile)
	link(t, "..1", volume, "..data")
	link(t, "..data/"+PolicyFile, volume, PolicyFile)
	link(t, "..data/"+ModuleFile, volume, ModuleFile)
	sink := run(t, NewDirectory(root))
	if d := sink.wantSet("file/p"); !has("a")(d) {
		t.Fatalf("want module a, got %v", d.Err)
	}
	for _, content := range []string{"b", "c"} {
		write(t, []byte(policyHead), volume, ".."+content, PolicyFile)
		write(t, module(content), volume, ".."+content, ModuleFile)
		link(t, ".."+content, volume, "..data")
		if d := sink.wantSet("file/p"); !has(content)(d) {
			t.Fatalf("want module %s in one step, got %v, %s", content, d.Err, d.ModuleDigest)
		}
	}
}

// A checked out tree is swapped by a link above the directory.
func TestDirectoryBehindLinks(t *testing.T) {
	top := t.TempDir()
	for _, content := range []string{"a", "b", "c"} {
		write(t, []byte(policyHead), top, "trees", content, "policies", "p", PolicyFile)
		write(t, module(content), top, "trees", content, "policies", "p", ModuleFile)
	}
	link(t, "trees/a", top, "current")
	sink := run(t, NewDirectory(filepath.Join(top, "current", "policies")))
	sink.until("file/p", has("a"))

	link(t, "trees/b", top, "current")
	sink.until("file/p", has("b"))

	replace(t, module("d"), top, "trees", "b", "policies", "p", ModuleFile)
	sink.until("file/p", has("d"))

	// A link to a file that is built elsewhere.
	write(t, module("e"), top, "out", "built.wasm")
	link(t, filepath.Join(top, "out", "built.wasm"), top, "trees", "b", "policies", "p", ModuleFile)
	sink.until("file/p", has("e"))
	replace(t, module("f"), top, "out", "built.wasm")
	sink.until("file/p", has("f"))

	link(t, "trees/c", top, "current")
	sink.until("file/p", has("c"))
}

// While the directory is away nothing is said; what differs when it is back is.
func TestDirectoryVanishes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "policies")
	for _, name := range []string{"p", "q"} {
		write(t, []byte(policyHead), root, name, PolicyFile)
		write(t, module("a"), root, name, ModuleFile)
	}
	sink := run(t, NewDirectory(root))
	sink.wantSet("file/p")
	sink.wantSet("file/q")
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	write(t, module("b"), root+".away", "p", ModuleFile)
	if err := os.RemoveAll(filepath.Join(root+".away", "q")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root+".away", root); err != nil {
		t.Fatal(err)
	}
	if d := sink.wantSet("file/p"); !has("b")(d) {
		t.Fatalf("want module b, got %v", d.Err)
	}
	sink.wantDelete("file/q")
}

func TestDirectoryMisused(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		root := filepath.Join(t.TempDir(), "none")
		s := NewDirectory(root)
		err := s.Run(ctx, &calls{t: t})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), root) {
			t.Errorf("want the missing directory named, got %v", err)
		}
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.WaitForSync(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("WaitForSync: want %v, got %v", context.Canceled, err)
		}
	})
	t.Run("policy.yaml in the directory itself", func(t *testing.T) {
		root := t.TempDir()
		write(t, []byte(policyHead), root, PolicyFile)
		d := run(t, NewDirectory(root)).wantSet("file/.")
		if want := filepath.Join(root, "NAME", PolicyFile); d.Err == nil || !strings.Contains(d.Err.Error(), want) {
			t.Errorf("want %s in the error, got %v", want, d.Err)
		}
	})
	t.Run("a pipe", func(t *testing.T) {
		root := t.TempDir()
		write(t, []byte(policyHead), root, "p", PolicyFile)
		if err := syscall.Mkfifo(filepath.Join(root, "p", ModuleFile), 0o644); err != nil {
			t.Skip(err)
		}
		d := run(t, NewDirectory(root)).wantSet("file/p")
		if d.Err == nil || !strings.Contains(d.Err.Error(), "policy.wasm: want a file, got p") {
			t.Errorf("want an error about the pipe, got %v", d.Err)
		}
	})
	t.Run("name that can't be a policy's", func(t *testing.T) {
		root := t.TempDir()
		write(t, []byte(policyHead), root, "My_Policy", PolicyFile)
		write(t, module("a"), root, "My_Policy", ModuleFile)
		d := run(t, NewDirectory(root)).wantSet("file/My_Policy")
		if d.Err == nil || !strings.Contains(d.Err.Error(), `name: want a DNS subdomain`) {
			t.Errorf("want an error about the name, got %v", d.Err)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
)

// files are the files of a policy in memory, named like the keys of its
// ConfigMap. They implement source.Files.
type files map[string][]byte

func (f files) Names() []string { return sortedKeys(f) }

func (f files) Read(name string, limit int) ([]byte, error) {
	data, ok := f[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case len(data) > limit:
		return nil, fmt.Errorf("%s: want at most %d bytes, got %d", name, limit, len(data))
	}
	return data, nil
}

// readFolder reads the files of a policy's folder, as the scheduler does with a
// directory of policies.
func readFolder(dir string) (files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := files{}
	for _, e := range entries {
		name := e.Name()
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || !policyFile(name) {
			continue
		}
		if f[name], err = readInput(filepath.Join(dir, name), nil, source.MaxModuleBytes); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// policyFile says whether a file in a policy's folder may be part of it; beside
// it there may be sources of any size.
func policyFile(name string) bool {
	return name == source.PolicyFile || isModuleName(name)
}

func isModuleName(name string) bool {
	return strings.HasSuffix(name, ".wasm") || strings.HasSuffix(name, ".wasm.gz")
}

// withModule puts a module beside a policy.yaml, under the name and in the form
// that policy.yaml wants.
func withModule(policyYAML, wasm []byte) files {
	name := source.ModuleFileGz
	if p, err := policy.Parse(policyYAML); err == nil && p.Module != "" {
		name = p.Module
	}
	if strings.HasSuffix(name, ".gz") {
		wasm = source.Gzip(wasm)
	}
	return files{source.PolicyFile: policyYAML, name: wasm}
}

// folderName is the name that a policy takes from its folder.
func folderName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// writeFile writes data to a file, or as "-" to out. Readers of the file see
// the old content or the new one, never a part.
func writeFile(name string, data []byte, out io.Writer) (err error) {
	if name == "-" {
		_, err := out.Write(data)
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error is the one to report
		}
	}()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(tmp.Name(), name)
}

// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/host/policy"
)

// Names of a policy's files, or keys of its ConfigMap.
const (
	PolicyFile   = "policy.yaml"
	ModuleFile   = "policy.wasm"
	ModuleFileGz = "policy.wasm.gz"
)

// MaxModuleBytes bounds a module after decompression. Real Go guests have 1.8
// to 3.3 MB.
const MaxModuleBytes = 16 << 20

// Files are the named bytes that a policy is assembled from.
type Files interface {
	// Names lists the files.
	Names() []string
	// Read returns a file, which the caller must not change. A file that isn't
	// there is fs.ErrNotExist; one of more than limit bytes is an error, too.
	Read(name string, limit int) ([]byte, error)
}

// Assemble makes a document from files: Name, PolicyYAML, Policy, Module,
// ModuleDigest and Err. The name is used unless policy.yaml gives one.
func Assemble(name string, files Files) Document {
	d := Document{Name: name}
	d.Err = d.assemble(files)
	return d
}

func (d *Document) assemble(files Files) error {
	names := files.Names()
	slices.Sort(names)
	text, err := files.Read(PolicyFile, policy.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("want %s, got %s", PolicyFile, list(names))
	case err != nil:
		return err
	}
	d.PolicyYAML = text
	p, err := policy.ParseNamed(text, d.Name)
	if err != nil {
		return err
	}
	d.Name, d.Policy = p.Name, p

	file, err := moduleFile(p, names)
	if err != nil {
		return err
	}
	raw, err := files.Read(file, MaxModuleBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("module: want %s, got %s", file, list(names))
	case err != nil:
		return err
	}
	if strings.HasSuffix(file, ".gz") {
		if raw, err = Gunzip(raw, MaxModuleBytes); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := checkWasm(raw); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	digest := Digest(raw)
	if p.Digest != "" && p.Digest != digest {
		return fmt.Errorf("%s: want digest %s, got %s", file, p.Digest, digest)
	}
	d.Module, d.ModuleDigest = raw, digest
	return nil
}

// moduleFile chooses the file that holds the module.
func moduleFile(p *policy.Policy, names []string) (string, error) {
	if p.Module != "" {
		return p.Module, nil
	}
	plain, gz := slices.Contains(names, ModuleFile), slices.Contains(names, ModuleFileGz)
	switch {
	case plain && gz:
		return "", fmt.Errorf("want %s or %s, got both; choose one by module: in %s", ModuleFile, ModuleFileGz, PolicyFile)
	case plain:
		return ModuleFile, nil
	case gz:
		return ModuleFileGz, nil
	}
	return "", fmt.Errorf("want %s or %s, got %s", ModuleFile, ModuleFileGz, list(names))
}

// list names files for a message, odd names in quotes. It may change names.
func list(names []string) string {
	const most = 8
	for i, name := range names {
		if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
			names[i] = quoted
		}
	}
	switch {
	case len(names) == 0:
		return "no files"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Digest is "sha256:" and the hex SHA-256 of a module.
func Digest(module []byte) string {
	sum := sha256.Sum256(module)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkWasm catches what isn't a module at all, where the message can be
// clearer than the compiler's.
func checkWasm(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return errors.New("want a wasm module, got gzip; name it with .gz at the end")
	case bytes.HasPrefix(data, []byte("AGFzbQ")):
		return errors.New("want a wasm module, got its base64 text")
	case bytes.HasPrefix(data, []byte("\x00asm\x0d\x00\x01\x00")):
		return errors.New("want a core wasm module, got a component")
	case !bytes.HasPrefix(data, []byte("\x00asm\x01\x00\x00\x00")):
		return fmt.Errorf("want a wasm module, got %d bytes that begin with %q", len(data), data[:min(len(data), 8)])
	}
	return nil
}

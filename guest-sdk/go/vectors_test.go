// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// vectors are what hosts write and every SDK must read.
var vectors = filepath.Join("..", "..", "abi", "testdata", "vectors")

// readVector makes a vector's string table current and returns the address of
// its record.
func readVector(t *testing.T, name string) uint32 {
	t.Helper()
	record, err := os.ReadFile(filepath.Join(vectors, name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(vectors, name+".strings"))
	if err != nil {
		t.Fatal(err)
	}
	var refs []byte
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var s string
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		refs = binary.LittleEndian.AppendUint32(refs, place([]byte(s)))
		refs = binary.LittleEndian.AppendUint32(refs, uint32(len(s)))
	}
	old := current
	t.Cleanup(func() { current = old })
	current = &guest{
		policy: &Policy{}, nodeReads: ^uint32(0), podReads: ^uint32(0),
		strings: at(place(refs)), stringsLen: uint32(len(refs) / abi.StringRefSize),
	}
	return place(record)
}

func place(b []byte) uint32 {
	p := native.Alloc(uint32(len(b)))
	copy(native.Bytes(p, uint32(len(b))), b)
	return p
}

// TestVectors reads every section through the SDK and prints it as the vectors'
// text has it.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors, "*.strings"))
	if err != nil || len(files) == 0 {
		t.Fatalf("want vectors in %s, got %v, %v", vectors, files, err)
	}
	native.Mu.Lock()
	defer native.Mu.Unlock()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".strings")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(vectors, name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			_, want, _ := strings.Cut(string(text), "\n") // the first line is the record's size
			p := &printer{rec: at(readVector(t, name))}
			switch u32(p.rec, abi.RecordKind) {
			case abi.NodeRecord:
				printNode(p, Node{p.rec})
			case abi.PodRecord:
				printPod(p, Pod{p.rec})
			}
			if diff := cmp.Diff(want, p.String()); diff != "" {
				t.Errorf("want the vector's text (-), got (+):\n%s", diff)
			}
		})
	}
}

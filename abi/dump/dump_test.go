// SPDX-License-Identifier: Apache-2.0

package dump_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/dump"
)

const vectorDir = "../testdata/vectors"

// vectors are the records of the golden vectors by name.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vectorDir, "*.bin"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("records in %s: want some, got %v, %v", vectorDir, paths, err)
	}
	recs := map[string][]byte{}
	for _, path := range paths {
		rec, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		recs[strings.TrimSuffix(filepath.Base(path), ".bin")] = rec
	}
	return recs
}

func vectorStrings(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, name+".strings"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var s string
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, s)
	}
	return texts
}

func TestVectors(t *testing.T) {
	for name, rec := range vectors(t) {
		want, err := os.ReadFile(filepath.Join(vectorDir, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if strings.HasPrefix(name, "value-") {
			got, err = dump.Value(rec)
		} else {
			var r *dump.Record
			if r, err = dump.View(rec, vectorStrings(t, name)); err == nil {
				got = r.String()
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestViewErrors(t *testing.T) {
	rec := vectors(t)["node-declared"]
	texts := vectorStrings(t, "node-declared")
	labels := binary.LittleEndian.Uint32(rec[abi.RecordTable+4*abi.NodeLabels:])
	meta := binary.LittleEndian.Uint32(rec[abi.RecordTable+4*abi.NodeMeta:])
	for _, tc := range []struct {
		name string
		at   uint32
		put  uint32
		err  string
	}{
		{"size", abi.RecordSizeField, 8, "size: want 192 and a multiple of 8, got 8"},
		{"kind", abi.RecordKind, 3, "want kind 1 or 2, got 3"},
		{"sections", abi.RecordSections, 1 << 30, "want inside 192 bytes"},
		{"section outside", abi.RecordTable, 192, "want inside 192 bytes"},
		{"section far outside", abi.RecordTable, 1<<32 - 8, "want inside 192 bytes"},
		{"section unaligned", abi.RecordTable, meta + 4, "node.meta: want an offset that is a multiple of 8"},
		{"count", labels + abi.ListCount, 1 << 31, "want inside 192 bytes"},
		{"stride too small", labels + abi.ListStride, 0, "node.labels: want a stride of at least 8, got 0"},
		{"stride unaligned", labels + abi.ListStride, 12, "node.labels: want a stride of at least 8, got 12"},
		{"id", labels + abi.ListEntries, 99, "want less than 5, got 99"},
		{"text outside", meta + abi.NodeMetaName, 191, "want inside 192 bytes"},
		{"text overflow", meta + abi.NodeMetaName + 4, 1<<32 - 1, "want inside 192 bytes"},
	} {
		bad := bytes.Clone(rec)
		binary.LittleEndian.PutUint32(bad[tc.at:], tc.put)
		if _, err := dump.View(bad, texts); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: want error %q, got %v", tc.name, tc.err, err)
		}
	}
	bad := bytes.Clone(rec)
	bad[binary.LittleEndian.Uint32(rec[meta:])] = 0xff
	if _, err := dump.View(bad, texts); err == nil || !strings.Contains(err.Error(), "want UTF-8") {
		t.Errorf("text: want an error about UTF-8, got %v", err)
	}
	for n := range rec {
		if _, err := dump.View(rec[:n], texts); err == nil {
			t.Errorf("first %d bytes: want an error", n)
		}
	}
}

// A record of a newer minor has more sections and longer entries.
func TestViewNewer(t *testing.T) {
	old, texts := vectors(t)["node-declared"], vectorStrings(t, "node-declared")
	want, err := dump.View(old, texts)
	if err != nil {
		t.Fatal(err)
	}
	taints := binary.LittleEndian.Uint32(old[abi.RecordTable+4*abi.NodeTaints:])
	rec := append(bytes.Clone(old), make([]byte, 8+abi.TaintSize+8)...)
	at := len(old)
	binary.LittleEndian.PutUint32(rec[at:], 1)
	binary.LittleEndian.PutUint32(rec[at+4:], abi.TaintSize+8)
	copy(rec[at+8:], old[taints+abi.ListEntries:taints+abi.ListEntries+abi.TaintSize])
	binary.LittleEndian.PutUint32(rec[abi.RecordTable+4*abi.NodeTaints:], uint32(at))
	binary.LittleEndian.PutUint32(rec[abi.RecordSizeField:], uint32(len(rec)))
	got, err := dump.View(rec, texts)
	if err != nil {
		t.Fatal(err)
	}
	want.Size = got.Size
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("longer stride (-want +got):\n%s", diff)
	}
	fewer := bytes.Clone(old)
	binary.LittleEndian.PutUint32(fewer[abi.RecordSections:], abi.NodeLabels+1)
	got, err = dump.View(fewer, texts)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Section("node.taints"); ok || len(got.Sections) != 2 {
		t.Errorf("record of an older host: want its 2 sections, got %d", len(got.Sections))
	}
}

func TestMutated(t *testing.T) {
	rec, texts := vectors(t)["pod-full"], vectorStrings(t, "pod-full")
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		m := bytes.Clone(rec)
		for range 1 + r.Intn(4) {
			m[r.Intn(len(m))] = byte(r.Intn(256))
		}
		if d, err := dump.View(m, texts); err == nil {
			_ = d.String()
		}
	}
}

func FuzzView(f *testing.F) {
	for name, rec := range vectors(f) {
		if !strings.HasPrefix(name, "value-") {
			f.Add(rec)
		}
	}
	texts := vectorStrings(f, "pod-full")
	f.Fuzz(func(t *testing.T, rec []byte) {
		if r, err := dump.View(rec, texts); err == nil {
			_ = r.String()
		}
	})
}

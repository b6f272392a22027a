// SPDX-License-Identifier: Apache-2.0

package intern_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
)

func TestTable(t *testing.T) {
	table := intern.New(1000, 100)
	for i, s := range []string{"", "a", "b", "größe"} {
		for range 2 {
			if id, ok := table.ID(s); !ok || id != uint32(i) {
				t.Errorf("ID(%q): want %d, got %d, %t", s, i, id, ok)
			}
			if id, ok := table.IDBytes([]byte(s)); !ok || id != uint32(i) {
				t.Errorf("IDBytes(%q): want %d, got %d, %t", s, i, id, ok)
			}
		}
		if got := table.Text(uint32(i)); got != s {
			t.Errorf("Text(%d): want %q, got %q", i, s, got)
		}
	}
	if id, ok := table.IDBytes([]byte("new")); !ok || id != 4 {
		t.Errorf("IDBytes(new): want 4, got %d, %t", id, ok)
	}
	if got := table.Len(); got != 5 {
		t.Errorf("Len: want 5, got %d", got)
	}
	if got := table.Text(5); got != "" {
		t.Errorf("Text of an unknown id: want none, got %q", got)
	}
	for n, want := range map[uint32][]string{0: {"", "a", "b", "größe", "new"}, 3: {"größe", "new"}, 5: nil, 1 << 31: nil} {
		if diff := cmp.Diff(want, table.Since(n)); diff != "" {
			t.Errorf("Since(%d) (-want +got):\n%s", n, diff)
		}
	}
}

// A tail that was handed out stays what it was when the table grows.
func TestTableSince(t *testing.T) {
	table := intern.New(1<<20, 1<<16)
	table.ID("a")
	tail := table.Since(1)
	for i := range 100 {
		table.ID(strconv.Itoa(i))
	}
	if diff := cmp.Diff([]string{"a"}, append(tail, "b")[:1]); diff != "" {
		t.Error(diff)
	}
	if got := table.Text(2); got != "0" {
		t.Errorf("appending to a tail: want no effect on the table, got %q", got)
	}
}

func TestTableFull(t *testing.T) {
	for name, table := range map[string]*intern.Table{"count": intern.New(1000, 3), "bytes": intern.New(3, 1000)} {
		t.Run(name, func(t *testing.T) {
			table.ID("a")
			table.ID("bc")
			if id, ok := table.ID("new"); ok || id != 0 {
				t.Errorf("new string: want it refused, got %d", id)
			}
			if _, ok := table.IDBytes([]byte("new")); ok {
				t.Error("new bytes: want them refused")
			}
			if id, ok := table.ID("bc"); !ok || id != 2 {
				t.Errorf("known string: want 2, got %d, %t", id, ok)
			}
			if got := table.Len(); got != 3 {
				t.Errorf("Len: want 3, got %d", got)
			}
		})
	}
}

func TestTableCrowded(t *testing.T) {
	for name, table := range map[string]*intern.Table{"count": intern.New(1000, 8), "bytes": intern.New(8, 1000)} {
		t.Run(name, func(t *testing.T) {
			for i, s := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				table.ID(s)
				if want := i+1+map[string]int{"count": 1}[name] > 6; table.Crowded() != want {
					t.Errorf("%d strings: want crowded %t, got %t", i+1, want, !want)
				}
			}
		})
	}
}

// What isn't UTF-8 or is too long is made fit, and found again.
func TestTableUnfit(t *testing.T) {
	table := intern.New(1<<20, 100)
	long := "xx" + strings.Repeat("€", 2000) // 6002 bytes; the limit is inside a rune
	for _, s := range []string{"a\xff", "a\xfe", long, long + "tail", strings.Repeat("\x80", 5000)} {
		id, ok := table.ID(s)
		if again, _ := table.ID(s); !ok || again != id {
			t.Errorf("ID(%.8q): want the same id twice, got %d, %d", s, id, again)
		}
		got := table.Text(id)
		if !utf8.ValidString(got) || len(got) > abi.MaxInternBytes || got == "" {
			t.Errorf("Text of %.8q: want UTF-8 of at most %d bytes, got %d", s, abi.MaxInternBytes, len(got))
		}
	}
	if got := table.Text(1); got != "a\uFFFD" {
		t.Errorf("invalid byte: want U+FFFD, got %q", got)
	}
	if got := table.Len(); got != 4 {
		t.Errorf("Len: want 4, got %d", got)
	}
}

func TestTableConcurrent(t *testing.T) {
	table := intern.New(1<<20, 1<<16)
	ids := make([][]uint32, 8)
	var wg sync.WaitGroup
	for g := range ids {
		wg.Go(func() {
			for i := range 512 {
				s := strconv.Itoa(i ^ g)
				id, ok := table.ID(s)
				if !ok || table.Text(id) != s || table.Len() <= int(id) {
					t.Errorf("ID(%q): got %d, %t", s, id, ok)
				}
				ids[g] = append(ids[g], id)
				table.Since(id)
			}
		})
	}
	wg.Wait()
	for g := range ids {
		for i, id := range ids[g] {
			if want := ids[0][i^g]; id != want {
				t.Errorf("id of %d: want the same in every goroutine, got %d and %d", i^g, want, id)
			}
		}
	}
}

func TestTableAllocs(t *testing.T) {
	table := intern.New(1000, 100)
	b := []byte("topology.kubernetes.io/zone")
	table.IDBytes(b)
	if n := testing.AllocsPerRun(100, func() { table.IDBytes(b) }); n != 0 {
		t.Errorf("IDBytes of a known string: want no allocation, got %v", n)
	}
}

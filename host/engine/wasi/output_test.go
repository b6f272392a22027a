// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLineBytes)
	type write struct {
		to   Stream
		text string
	}
	for _, tt := range []struct {
		name   string
		writes []write
		want   []string
	}{
		{"a line", []write{{1, "hello\n"}}, []string{"stdout: hello"}},
		{"in pieces", []write{{2, "he"}, {2, "llo"}, {2, "\nthere\n"}}, []string{"stderr: hello", "stderr: there"}},
		{"two streams", []write{{1, "a"}, {2, "b\n"}, {1, "c\n"}}, []string{"stderr: b", "stdout: ac"}},
		{"left open", []write{{2, "x\ny"}, {1, "z"}}, []string{"stderr: x", "stdout: z", "stderr: y"}},
		{"empty", []write{{1, "\n\n"}, {1, ""}}, []string{"stdout: ", "stdout: "}},
		{"not text", []write{{1, "a\x00b\xffc\td\x1b[0m\r\n"}}, []string{"stdout: a b\ufffdc d [0m "}},
		{"as long as may be", []write{{1, long + "\n"}}, []string{"stdout: " + long}},
		{"too long", []write{{1, long}, {1, "y"}, {1, "z\nnext\n"}}, []string{"stdout: " + long + " [cut]", "stdout: next"}},
		{"too much", []write{{1, strings.Repeat("1234567\n", MaxCallBytes/8)}, {2, "more\n"}, {1, "and more\n"}},
			append(slicesRepeat("stdout: 1234567", MaxCallBytes/8), "stderr: [more than 8192 bytes printed in one call, the rest is dropped]")},
	} {
		var got []string
		s := NewState(Options{Line: func(to Stream, line string) { got = append(got, fmt.Sprintf("%v: %s", to, line)) }})
		for _, w := range tt.writes {
			s.print(w.to, []byte(w.text))
		}
		s.SetClock(1)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		got = nil
		s.print(Stdout, []byte("again\n"))
		if diff := cmp.Diff([]string{"stdout: again"}, got); diff != "" {
			t.Errorf("%s: the next call (-want +got):\n%s", tt.name, diff)
		}
	}
}

func slicesRepeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func TestTail(t *testing.T) {
	s := NewState(Options{})
	s.print(Stdout, []byte("out\n"))
	s.print(Stderr, []byte("panic: boom\n"))
	if got, want := s.Tail(), "out\npanic: boom\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	for range 5 {
		s.print(Stdout, []byte(strings.Repeat("noise\n", 1000)))
	}
	s.print(Stderr, []byte("panic: late"))
	got := s.Tail()
	if len(got) != TailBytes || !strings.HasSuffix(got, "noise\npanic: late") {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-30:])
	}
	s.SetClock(1)
	if got := s.Tail(); got != "" {
		t.Errorf("after SetClock: got %q", got)
	}
}

func BenchmarkPrint(b *testing.B) {
	s := NewState(Options{Line: func(Stream, string) {}})
	line := []byte("a line of a policy that likes to print\n")
	for b.Loop() {
		s.print(Stdout, line)
		s.printed = 0
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

const (
	red  = berth.ID(1)
	blue = berth.ID(2)
)

// queue drives lines of one resource as QueueKey and PostBind do.
type queue struct {
	lines
	bound map[berth.ID]amounts
	now   int64
}

func newQueue() *queue {
	return &queue{lines: newLines(1), bound: map[berth.ID]amounts{red: {0}, blue: {0}}}
}

// ask is what is in line up to a pod and with it.
func (q *queue) ask(team berth.ID, uid string, cost float64) float64 {
	return q.place(q.of(team, append(amounts(nil), q.bound[team]...)), uid, amounts{cost}, q.now)[0]
}

func (q *queue) want(t *testing.T, team berth.ID, uid string, cost, want float64) {
	t.Helper()
	if got := q.ask(team, uid, cost); got != want {
		t.Errorf("%s: want %v in line up to it, got %v", uid, want, got)
	}
}

// Each pod is behind those of its team that came before, however often and in
// what order they are asked about, and teams don't stand in each other's way.
func TestPlaces(t *testing.T) {
	q := newQueue()
	q.want(t, red, "a", 2, 2)
	q.want(t, red, "b", 3, 5)
	q.want(t, blue, "c", 1, 1)
	q.want(t, red, "b", 3, 5)
	q.want(t, red, "a", 2, 2)
	q.want(t, red, "d", 1, 6)
}

// What is bound leaves the line, and others move up, but never before
// themselves.
func TestBound(t *testing.T) {
	q := newQueue()
	for i := range 10 {
		q.want(t, red, fmt.Sprint(i), 1, float64(i+1))
	}
	q.bound[red] = amounts{4}
	q.want(t, red, "4", 1, 1)
	q.want(t, red, "9", 1, 6)
	q.want(t, red, "new", 1, 7)
	q.want(t, red, "0", 1, 1) // was bound, and came back
	q.bound[red] = amounts{1000}
	q.want(t, red, "new", 1, 1)
}

// An instance that is made later knows nothing of the pods before.
func TestBoundBefore(t *testing.T) {
	q := newQueue()
	q.bound[red] = amounts{50}
	q.want(t, red, "a", 1, 1)
	q.want(t, red, "b", 1, 2)
	q.bound[red] = amounts{51}
	q.want(t, red, "b", 1, 1)
}

// Pods that are gone without having been bound leave the line after a while;
// those that are asked about stay.
func TestForget(t *testing.T) {
	q := newQueue()
	for i := range 10 {
		q.ask(red, fmt.Sprint("gone-", i), 1)
	}
	q.want(t, red, "stays", 1, 11)
	q.now = forgetAfter - 1
	q.want(t, red, "stays", 1, 11)
	q.now = forgetAfter
	q.want(t, red, "stays", 1, 1)
	q.want(t, red, "new", 1, 2)
	if len(q.places) != 2 || q.oldest.uid != "stays" || q.newest.uid != "new" || q.oldest.newer != q.newest || q.newest.older != q.oldest {
		t.Errorf("want two places left, got %d", len(q.places))
	}
}

// A pod whose team changes goes to the end of the other line.
func TestOtherTeam(t *testing.T) {
	q := newQueue()
	q.ask(blue, "b", 1)
	q.ask(red, "a", 1)
	q.want(t, blue, "a", 1, 2)
	if got := q.of(red, amounts{0}).waiting(0); got != 0 {
		t.Errorf("want the old line empty, got %v", got)
	}
}

// A pod of a group is behind all others and has no place.
func TestBehind(t *testing.T) {
	q := newQueue()
	q.ask(red, "a", 2)
	if got := q.of(red, amounts{0}).behind(amounts{5}); got[0] != 7 {
		t.Errorf("want 7, got %v", got[0])
	}
	q.want(t, red, "b", 1, 3)
}

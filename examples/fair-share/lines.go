// SPDX-License-Identifier: Apache-2.0

package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

// amounts are what pods ask for, by the index of the resource.
type amounts []float64

func (a amounts) add(b amounts, sign float64) {
	for i := range a {
		a[i] += sign * b[i]
	}
}

// forgetAfter is when a pod that wasn't asked about is taken to be gone, in
// nanoseconds. The queue asks again at least every five minutes.
const forgetAfter = 10 * 60 * 1_000_000_000

// lines are the teams' lines: pods that wait, in the order in which they came.
type lines struct {
	resources int
	teams     berth.Table[*line]
	places    map[string]*place // by UID
	oldest    *place            // the one that wasn't asked about for longest
	newest    *place
}

func newLines(resources int) lines { return lines{resources: resources, places: map[string]*place{}} }

// line is one team's. Its pods' places are marks on a scale that only grows: the
// sum of all that came. Where the line begins is the sum of all that was bound.
type line struct {
	came   amounts
	bound  amounts // since the line was made
	before amounts // what was bound before
	recent amounts // of the places that aren't forgotten
}

// place is a pod's place in line.
type place struct {
	uid          string
	line         *line
	mark, cost   amounts
	asked        int64
	older, newer *place
}

// of is a team's line; bound is what was bound of it in all.
func (l *lines) of(team berth.ID, bound amounts) *line {
	at := l.teams.At(team)
	if *at == nil {
		zero := func() amounts { return make(amounts, l.resources) }
		*at = &line{came: zero(), bound: zero(), recent: zero(), before: bound}
	}
	for i := range bound {
		(*at).bound[i] = bound[i] - (*at).before[i]
	}
	return *at
}

// waiting is what is in line: what came and wasn't bound, but no more than what
// was asked about lately, since pods that were deleted are never bound.
func (l *line) waiting(i int) float64 {
	return max(0, min(l.came[i]-l.bound[i], l.recent[i]))
}

// behind is what is in line with a pod behind all others.
func (l *line) behind(cost amounts) amounts {
	sum := make(amounts, len(cost))
	for i := range sum {
		sum[i] = l.waiting(i) + cost[i]
	}
	return sum
}

// place is what is in line up to a pod and with it. The pod gets a place if it
// has none.
func (l *lines) place(in *line, uid string, cost amounts, now int64) amounts {
	l.forget(now)
	p := l.places[uid]
	if p != nil && p.line != in {
		l.remove(p) // it changed its team
		p = nil
	}
	if p == nil {
		in.came.add(cost, 1)
		in.recent.add(cost, 1)
		p = &place{uid: uid, line: in, mark: append(amounts(nil), in.came...), cost: cost}
		l.places[uid] = p
	} else {
		l.unlink(p)
	}
	p.asked = now
	l.link(p)
	sum := make(amounts, len(cost))
	for i := range sum {
		begin := in.came[i] - in.waiting(i)
		sum[i] = max(p.mark[i]-begin, p.cost[i])
	}
	return sum
}

// forget drops the places of pods that weren't asked about for long.
func (l *lines) forget(now int64) {
	for l.oldest != nil && now-l.oldest.asked >= forgetAfter {
		l.remove(l.oldest)
	}
}

func (l *lines) remove(p *place) {
	p.line.recent.add(p.cost, -1)
	l.unlink(p)
	delete(l.places, p.uid)
}

// link makes a place the newest.
func (l *lines) link(p *place) {
	p.older, p.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = p
	} else {
		l.oldest = p
	}
	l.newest = p
}

func (l *lines) unlink(p *place) {
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		l.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		l.newest = p.older
	}
}

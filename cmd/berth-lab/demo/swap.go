// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"time"

	"github.com/berth-scheduler/berth/test/lab"
)

// swapMargin is how many pods of the stream are bound by the first rule before
// the update, and by the second before the stream ends.
const swapMargin = 10

// swapTimes are the moments of a swap, on this process's clock. A pod that was
// bound before sent follows the first rule; one that was created after decided
// follows the second; those between follow either.
type swapTimes struct {
	sent     time.Time // the update was sent
	answered time.Time // the API server had taken it
	decided  time.Time // the first pod bound by the second rule was seen
	active   time.Time // the status said Active
}

// swap replaces team-pools by next while pods keep arriving. The time that it
// measures ends when a pod is seen bound to a node that only the second rule
// allows; it is too long by at most the stream's interval and the time from
// decision to watch event, never too short.
func (d *demo) swap(ctx context.Context, next policy) (PolicyResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := d.startStream(ctx, cancel)
	if err != nil {
		return PolicyResult{}, err
	}
	if err := s.waitBound(ctx, ruleOne, swapMargin); err != nil {
		return PolicyResult{}, err
	}
	var t swapTimes
	t.sent = time.Now()
	if err := d.apply(ctx, next); err != nil {
		return PolicyResult{}, err
	}
	t.answered = time.Now()
	d.progress("swap: the API server has the new team-pools; pods keep arriving")
	if err := s.waitBound(ctx, ruleTwo, 1); err != nil {
		return PolicyResult{}, err
	}
	t.decided = s.boundBy(ruleTwo)[0]
	d.result.Swap.Milliseconds = max(0, t.decided.Sub(t.answered).Milliseconds())
	d.progress("swap: first decision by the new version after %d ms", d.result.Swap.Milliseconds)
	active, err := d.waitActive(ctx, next)
	if err != nil {
		return PolicyResult{}, err
	}
	t.active = time.Now()
	if err := s.waitBound(ctx, ruleTwo, swapMargin); err != nil {
		return PolicyResult{}, err
	}

	pods := s.end()
	if _, err := d.cluster.WaitPods(ctx, namespace, partLabel+"="+partSwap, len(pods), lab.Running); err != nil {
		return PolicyResult{}, err
	}
	d.swapped, d.stream = t, pods
	for _, p := range pods {
		if t.during(p) {
			d.result.Swap.PodsDuring++
		}
	}
	d.progress("swap: %d pods Running, %d of them created between update and Active", len(pods), d.result.Swap.PodsDuring)
	return active, nil
}

// during says whether a pod arrived between the update and its taking effect.
func (t swapTimes) during(p *streamPod) bool {
	return !p.created.Before(t.sent) && !p.created.After(t.active)
}

// rules returns the rules of which a pod of the stream must follow one.
func (t swapTimes) rules(p *streamPod) []rule {
	switch {
	case !p.bound.IsZero() && p.bound.Before(t.sent):
		return []rule{ruleOne}
	case p.created.After(t.decided):
		return []rule{ruleTwo}
	}
	return []rule{ruleOne, ruleTwo}
}

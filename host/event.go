// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/metrics"
)

// A policy may write this many Events at once, and so many a second in the long
// run; those on top are dropped and counted.
const (
	eventBurst   = 100
	eventsSecond = 5
)

// maxNote is what the API server takes as an Event's note.
const maxNote = 1024

// eventAction is what the policy was doing when it wrote an Event.
const eventAction = "Scheduling"

var eventReason = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,127}$`)

// eventLimits bound the Events of each policy. It is safe for concurrent use.
type eventLimits struct {
	mu sync.Mutex
	by map[string]flowcontrol.PassiveRateLimiter
}

// take says whether a policy may write one more.
func (l *eventLimits) take(policy string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.by[policy]
	if limit == nil {
		if l.by == nil {
			l.by = map[string]flowcontrol.PassiveRateLimiter{}
		}
		limit = flowcontrol.NewTokenBucketPassiveRateLimiter(eventsSecond, eventBurst)
		l.by[policy] = limit
	}
	return limit.TryAccept()
}

// forget drops a policy that is gone.
func (l *eventLimits) forget(policy string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, policy)
}

func init() {
	checkers[abi.IntentEvent] = checkEvent
	carriers[abi.IntentEvent] = writeEvent
}

func checkEvent(_ *asking, v abi.Value) error {
	kind, reason, message := eventParts(v)
	if kind != v1.EventTypeNormal && kind != v1.EventTypeWarning {
		return fmt.Errorf("type: want %s or %s, got %q", v1.EventTypeNormal, v1.EventTypeWarning, kind)
	}
	if !eventReason.MatchString(reason) {
		return fmt.Errorf("reason: want a word in CamelCase of at most 128 bytes, got %.128q", reason)
	}
	if err := guest.CheckText(message); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	return nil
}

func eventParts(v abi.Value) (kind, reason, message string) {
	text := func(key string) string {
		x, _ := v.Get(key)
		return x.Text()
	}
	return text("type"), text("reason"), text("message")
}

// writeEvent writes an Event about the call's pod, which names the policy. The
// recorder sends it from a goroutine of its own. Replicas that don't lead run
// some points, too, and write nothing.
func writeEvent(a *asking, v abi.Value) {
	if a.pod == nil || !a.host.leads() {
		return
	}
	name := a.version.name
	if !a.host.events.take(name) {
		metrics.PolicyEvents.WithLabelValues(name, "dropped").Inc()
		return
	}
	kind, reason, message := eventParts(v)
	note := name + ": " + message
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "")
	}
	a.host.recorder().Eventf(a.pod, nil, kind, reason, eventAction, "%s", note)
	metrics.PolicyEvents.WithLabelValues(name, "written").Inc()
}

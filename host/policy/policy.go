// SPDX-License-Identifier: Apache-2.0

package policy

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/abi"
)

// Values of apiVersion and kind.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "Policy"
)

// Defaults and bounds of fields.
const (
	DefaultWeight = 1
	MaxWeight     = 100
	DefaultOrder  = 100

	DefaultMemory Bytes = 64 << 20
	MinMemory     Bytes = 1 << 20
	MaxMemory     Bytes = 512 << 20

	// A million units are about 2 ms of an endless loop in compiled code and
	// 25 ms of one that misses the cache with every load.
	DefaultFuelBase    = 5_000_000
	MaxFuelBase        = 500_000_000
	DefaultFuelPerNode = 50_000
	MaxFuelPerNode     = 5_000_000

	DefaultLog Bytes = 16 << 10
	MaxLog     Bytes = 1 << 20

	DefaultInterval = 15 // seconds between fetches of a data set
	MinInterval     = 5
	MaxInterval     = 3600
	MaxDataSets     = 16
	MaxQuery        = 4096 // bytes
)

// Policy is an effective policy.yaml.
type Policy struct {
	// APIVersion is "berth.dev/v1alpha1".
	APIVersion string `json:"apiVersion"`
	// Kind is "Policy".
	Kind string `json:"kind"`
	// Name names the policy in statuses, events and metrics: a DNS subdomain.
	// The default is the name of the ConfigMap or directory. Two policies of a
	// scheduler can't share a name.
	Name string `json:"name,omitempty"`
	// Module is the key in binaryData, or the file, that holds the module; a
	// name ending in ".gz" is gunzipped. The default is whichever of
	// "policy.wasm" and "policy.wasm.gz" exists.
	Module string `json:"module,omitempty"`
	// Digest pins the module: "sha256:" and 64 hex digits of the bytes before
	// compression, as printed by berth inspect. Other bytes are refused. The
	// default accepts any.
	Digest string `json:"digest,omitempty"`
	// Mode is Enforce. Shadow, which runs a policy without effect, is declared
	// but not served yet, so it is refused.
	Mode Mode `json:"mode"`
	// Suspend turns the policy off while it stays loaded. So does the label
	// berth.dev/suspend on the ConfigMap.
	Suspend bool `json:"suspend"`
	// Weight is the policy's share in Berth's score, 0 to 100. The weights of
	// all scoring policies of a profile share Berth's own weight in that
	// profile once their sum exceeds it.
	Weight int64 `json:"weight"`
	// Order says which policy is asked first: the lower number, then the name.
	Order int64 `json:"order"`
	// FailurePolicy says what a pod gets when the policy can't answer: Fail
	// makes it unschedulable, Ignore goes on as if the policy weren't there.
	FailurePolicy FailurePolicy `json:"failurePolicy"`
	// FailurePolicies overrides failurePolicy for single points, by the names
	// that berth inspect prints ("filter"), for "configure", and for "load":
	// everything before configure. The default is none.
	FailurePolicies map[string]FailurePolicy `json:"failurePolicies,omitempty"`
	// Match says for which pods the policy is asked. What is left out matches
	// all; all that is given must match.
	Match Match `json:"match"`
	// Config is handed to the module's configure: an object of any content,
	// checked against the schema that the module declares. The default is none.
	Config map[string]any `json:"config,omitempty"`
	// Limits bound what the module may use.
	Limits Limits `json:"limits"`
	// Grants allow the module what it has no right to by itself: to read a
	// resource, or to ask for an intent. The default is none.
	Grants []Grant `json:"grants,omitempty"`
	// DataSets are the numbers from elsewhere that the module reads, and where
	// each comes from: exactly those that the module names. The default is none.
	DataSets []DataSet `json:"dataSets,omitempty"`

	selector   labels.Selector // of match.podSelector; nil matches all
	profiles   map[string]struct{}
	namespaces map[string]struct{}
	onFailure  []FailurePolicy // by abi.Point
	onLoad     FailurePolicy
	effective  []byte
	hash       string
}

// Mode says whether what a policy answers has an effect.
type Mode string

// Modes.
const (
	Enforce Mode = "Enforce"
	Shadow  Mode = "Shadow"
)

// FailurePolicy says what a pod gets when a policy can't answer.
type FailurePolicy string

// Failure policies.
const (
	Fail   FailurePolicy = "Fail"
	Ignore FailurePolicy = "Ignore"
)

// Match says for which pods a policy is asked.
type Match struct {
	// Profiles are the names of the scheduler's profiles (a pod's
	// schedulerName). The default is all.
	Profiles []string `json:"profiles,omitempty"`
	// Namespaces are those of the pods. The default is all.
	Namespaces []string `json:"namespaces,omitempty"`
	// PodSelector is a label selector over the pods' labels. The default is
	// all.
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// Limits bound what a module may use.
type Limits struct {
	// Memory is the most that one instance may hold, a quantity of 1Mi to
	// 512Mi in whole 64Ki pages.
	Memory Bytes `json:"memory"`
	// Fuel bounds the work of one call.
	Fuel Fuel `json:"fuel"`
	// Log is how much output of one call reaches the log, a quantity of at most
	// 1Mi; the rest is dropped.
	Log Bytes `json:"log"`
}

// Fuel bounds the work of one call: base + perNode × the nodes of the call. One
// unit is one instruction of the module.
type Fuel struct {
	// Base is what every call may use, 1 to 500000000.
	Base int64 `json:"base"`
	// PerNode is what a call may use more for each node, 0 to 5000000.
	PerNode int64 `json:"perNode"`
}

// Grant allows a module one thing. Exactly one field is set.
type Grant struct {
	// Intent is something that the host does for the module after a call:
	// activate, event, patch, bind, evict or reclaim.
	Intent string `json:"intent,omitempty"`
	// Resource is what the module may get and list: "group/version/resource", or
	// "version/resource" of the core group.
	Resource string `json:"resource,omitempty"`
}

// DataSet says where the host fetches a data set. Exactly one source is given.
type DataSet struct {
	// Name is what the module calls the data set.
	Name string `json:"name"`
	// IntervalSeconds is how often it is fetched, 5 to 3600. The default is 15.
	IntervalSeconds int64 `json:"intervalSeconds"`
	// NodeMetrics is a source: what nodes use, from metrics.k8s.io. The keys are
	// NODE/cpu, in millicores, NODE/memory, in bytes, and NODE/timestamp, when
	// that was measured, in Unix seconds. Write {}.
	NodeMetrics *NodeMetrics `json:"nodeMetrics,omitempty"`
	// Prometheus is a source: an instant query. The key is the value of a label.
	Prometheus *Prometheus `json:"prometheus,omitempty"`
}

// NodeMetrics has no settings.
type NodeMetrics struct{}

// Prometheus is an instant query.
type Prometheus struct {
	// URL is the server's, http or https, without /api/v1/query.
	URL string `json:"url"`
	// Query is an expression whose value is a vector with one sample for each
	// value of the label, or a scalar, whose key is "scalar".
	Query string `json:"query"`
	// Label is the label whose value is the key, like "node". A scalar has none.
	Label string `json:"label,omitempty"`
	// BearerToken is a file in the credentialsDir of the plugin's arguments
	// whose content is sent as a bearer token.
	BearerToken string `json:"bearerToken,omitempty"`
	// CA is a file there with the authorities to trust in place of the system's.
	CA string `json:"ca,omitempty"`
}

// Load is the key of failurePolicies for everything before configure: fetching,
// checking, compiling, starting and describing a module.
const Load = "load"

// FailurePoints are the points, and configure, that failurePolicies may name
// beside [Load].
var FailurePoints = func() (points []abi.Point) {
	for i := range abi.Points {
		if p := abi.Points[i].Point; p != abi.Describe {
			points = append(points, p)
		}
	}
	return points
}()

// Matches reports whether the policy is asked for a pod of a profile. It
// doesn't allocate.
func (p *Policy) Matches(profile string, pod *v1.Pod) bool {
	if p.profiles != nil {
		if _, ok := p.profiles[profile]; !ok {
			return false
		}
	}
	if p.namespaces != nil {
		if _, ok := p.namespaces[pod.Namespace]; !ok {
			return false
		}
	}
	return p.selector == nil || p.selector.Matches(labels.Set(pod.Labels))
}

// MatchesProfile reports whether the policy may be asked for pods of a profile
// at all.
func (p *Policy) MatchesProfile(profile string) bool {
	if p.profiles == nil {
		return true
	}
	_, ok := p.profiles[profile]
	return ok
}

// OnFailure is the failure policy at a point, or of configure.
func (p *Policy) OnFailure(point abi.Point) FailurePolicy {
	if int(point) < len(p.onFailure) {
		return p.onFailure[point]
	}
	return p.FailurePolicy
}

// OnLoadFailure is the failure policy while no version of the module could be
// loaded.
func (p *Policy) OnLoadFailure() FailurePolicy { return p.onLoad }

// Effective is the policy after defaults as one line of JSON, which [Parse]
// reads back to an equal policy. Equal policies have equal bytes. The caller
// must not change them.
func (p *Policy) Effective() []byte { return p.effective }

// Hash is "sha256:" and the hex SHA-256 of Effective.
func (p *Policy) Hash() string { return p.hash }

// Equal reports whether two policies say the same.
func (p *Policy) Equal(q *Policy) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.hash == q.hash
}

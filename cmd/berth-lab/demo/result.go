// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strings"
)

// Result is what the demo measured. Its JSON is for programs: fields are added,
// never renamed.
type Result struct {
	Kubernetes        string          `json:"kubernetes"`
	Nodes             int             `json:"nodes"`
	Phases            []PhaseResult   `json:"phases"`
	Swap              SwapResult      `json:"swap"`
	Pending           []PendingResult `json:"pending"`
	SchedulerRestarts int             `json:"schedulerRestarts"`
	WallSeconds       float64         `json:"wallSeconds"`

	placed placed
}

// PhaseResult is about the pods that were created under one set of policies.
type PhaseResult struct {
	Name       string         `json:"name"`
	Policies   []PolicyResult `json:"policies"`
	Pods       int            `json:"pods"`
	Bound      int            `json:"bound"`
	Violations int            `json:"violations"`

	part string
}

// PolicyResult is a version of a policy, as its status named it.
type PolicyResult struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// SwapResult is about the replacement of a policy. Milliseconds go from the API
// server's answer to the update to the first pod seen bound by the new version;
// the pods are those created between the update and the status Active.
type SwapResult struct {
	Milliseconds    int64 `json:"milliseconds"`
	PodsDuring      int   `json:"podsDuring"`
	PodsDuringBound int   `json:"podsDuringBound"`
}

// PendingResult is a pod without a node and the scheduler's reason.
type PendingResult struct {
	Pod     string `json:"pod"`
	Message string `json:"message"`
}

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nKubernetes %s, %d nodes. How many pods of each part and team are in which pool,\nand how many of those that prefer or avoid spot nodes are on one:\n\n", r.Kubernetes, r.Nodes)
	if err := r.placed.writeTable(&b); err != nil {
		return err
	}
	if len(r.Pending) > 0 {
		fmt.Fprintf(&b, "\nRule of phase 1: %s.\nRule of phase 2: %s.\n", ruleOne.describe(), ruleTwo.describe())
		for _, p := range r.Phases {
			for _, policy := range p.Policies {
				fmt.Fprintf(&b, "  %s  %-10s  %s\n", p.Name, policy.Name, policy.Digest)
			}
		}
		fmt.Fprintf(&b, "\nSwap: the new version decided %d ms after the API server's answer; of %d pods that arrived meanwhile %d are bound.\n",
			r.Swap.Milliseconds, r.Swap.PodsDuring, r.Swap.PodsDuringBound)
	}
	for _, p := range r.Pending {
		fmt.Fprintf(&b, "Pending: %s: %s\n", p.Pod, p.Message)
	}
	fmt.Fprintf(&b, "Scheduler restarts: %d. All of it took %.1f s.\n", r.SchedulerRestarts, r.WallSeconds)
	_, err := io.WriteString(w, b.String())
	return err
}

// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
)

// placed counts what went where.
type placed map[placeKey]*placeCount

type placeKey struct{ part, team string }

type placeCount struct {
	pods, bound, violations int
	byPool                  map[string]int
	spot                    map[string]*share // by the pods' preference
}

// share is how many of the bound pods are on spot nodes.
type share struct{ on, of int }

func (s *share) String() string {
	if s == nil {
		return "·"
	}
	return fmt.Sprintf("%d/%d", s.on, s.of)
}

// add counts a pod; node is nil if it has none.
func (p placed) add(pod *corev1.Pod, node *corev1.Node, violated bool) {
	key := placeKey{pod.Labels[partLabel], pod.Labels[teamLabel]}
	c := p[key]
	if c == nil {
		c = &placeCount{byPool: map[string]int{}, spot: map[string]*share{}}
		p[key] = c
	}
	c.pods++
	if violated {
		c.violations++
	}
	if node == nil {
		return
	}
	c.bound++
	c.byPool[node.Labels[poolLabel]]++
	preference := pod.Labels[spotLabel]
	if c.spot[preference] == nil {
		c.spot[preference] = &share{}
	}
	c.spot[preference].of++
	if node.Labels[capacityLabel] == "spot" {
		c.spot[preference].on++
	}
}

// totals are the bound pods and the violations of a part.
func (p placed) totals(part string) (bound, violations int) {
	for key, c := range p {
		if key.part == part {
			bound += c.bound
			violations += c.violations
		}
	}
	return bound, violations
}

// writeTable writes one line for each part and team, in the order of the demo.
func (p placed) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "part\tteam\t")
	for _, pool := range pools {
		fmt.Fprintf(t, "%s\t", pool.name)
	}
	fmt.Fprintln(t, "prefer spot\tavoid spot\tbound\tviolations\t")
	for _, part := range []string{partStock, partOne, partSwap, partTwo} {
		for _, team := range teams {
			c := p[placeKey{part, team}]
			if c == nil {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t", part, team)
			for _, pool := range pools {
				fmt.Fprintf(t, "%s\t", orDot(c.byPool[pool.name]))
			}
			fmt.Fprintf(t, "%v\t%v\t%d/%d\t%d\t\n", c.spot["prefer"], c.spot["avoid"], c.bound, c.pods, c.violations)
		}
	}
	return t.Flush()
}

// orDot keeps a table of mostly zeros readable.
func orDot(n int) string {
	if n == 0 {
		return "·"
	}
	return fmt.Sprint(n)
}

// describe says in one line what a rule is.
func (r rule) describe() string {
	var s []string
	for _, team := range teams {
		s = append(s, team+" → "+r.pools[team])
	}
	return fmt.Sprintf("%s; %s for those that ask", strings.Join(s, ", "), r.overflow)
}

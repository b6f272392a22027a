// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/cmd/berth-lab/install"
	"github.com/berth-scheduler/berth/test/lab"
)

// Options configures Run.
type Options struct {
	// StockOnly ends the demo after the stock scheduler's part.
	StockOnly bool
	// SchedulerBinary is the executable of berth-scheduler.
	SchedulerBinary string
	// PolicyDir holds the modules: team-pools.wasm, team-pools-v2.wasm and
	// cost-aware.wasm.
	PolicyDir string
	// LogDir gets and keeps all logs. Empty means that they are removed.
	LogDir string
	// Progress is called with one line for each step.
	Progress func(format string, args ...any)
}

// How many pods each part creates. The stream of the swap is as long as the
// swap.
const (
	stockPods = 30
	phasePods = 200
)

type demo struct {
	options  Options
	cluster  *lab.Cluster
	nodes    map[string]*corev1.Node
	berth    *lab.Scheduler
	started  string // when berth did, by its own word
	placed   placed
	swapped  swapTimes
	stream   map[string]*streamPod
	result   Result
	progress func(format string, args ...any)
}

// Run runs the demo on a cluster of its own and returns what it measured. When
// the demo ran to its end but a check failed, there is both a result and an
// error that is ErrCheck.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	start := time.Now()
	d := &demo{options: o, placed: placed{}, progress: o.Progress}
	d.result = Result{Phases: []PhaseResult{}, Pending: []PendingResult{}, placed: d.placed}
	policies := map[policyFile]policy{}
	if !o.StockOnly {
		// Read before the cluster starts: a missing file shows at once.
		for _, f := range []policyFile{teamPoolsOne, teamPoolsTwo, costAware} {
			if policies[f], err = f.load(o.PolicyDir); err != nil {
				return nil, err
			}
		}
		if one, two := policies[teamPoolsOne].digest, policies[teamPoolsTwo].digest; one == two {
			return nil, fmt.Errorf("%s and %s: want two builds, got the same digest %s", teamPoolsOne.module, teamPoolsTwo.module, one)
		}
	}

	d.progress("starting etcd and kube-apiserver")
	d.cluster, err = startCluster(ctx, o.LogDir)
	if d.cluster != nil {
		defer func() { err = errors.Join(err, d.cluster.Stop()) }()
	}
	if err != nil {
		return nil, err
	}
	if err := d.stock(ctx); err != nil {
		return nil, err
	}
	if !o.StockOnly {
		if err := d.phases(ctx, policies); err != nil {
			return nil, d.explain(err)
		}
	}
	err = d.check(ctx)
	if err != nil && !errors.Is(err, ErrCheck) {
		return nil, err
	}
	if d.berth != nil && !d.berth.Alive() {
		return nil, d.explain(errors.Join(err, errors.New("want it to outlive the demo")))
	}
	d.result.WallSeconds = math.Round(10*time.Since(start).Seconds()) / 10
	return &d.result, err
}

// stock is what any cluster does: the stock scheduler places pods.
func (d *demo) stock(ctx context.Context) error {
	version, err := d.cluster.Client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	d.result.Kubernetes = version.GitVersion
	list, err := d.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	d.nodes = map[string]*corev1.Node{}
	for i := range list.Items {
		d.nodes[list.Items[i].Name] = &list.Items[i]
	}
	d.progress("Kubernetes %s with %d nodes in %d zones and %d pools", version.GitVersion, len(d.nodes), len(zones), len(pools))

	scheduler, err := d.cluster.StartScheduler(ctx, lab.SchedulerOptions{})
	if err != nil {
		return err
	}
	d.progress("stock scheduler is ready, pid %d", scheduler.PID())
	if err := d.runPods(ctx, partStock, corev1.DefaultSchedulerName, stockPods); err != nil {
		return err
	}
	if d.options.StockOnly {
		d.result.Phases = append(d.result.Phases, PhaseResult{Name: "stock", Policies: []PolicyResult{}, Pods: stockPods, part: partStock})
	}
	return nil
}

// phases is Berth's part, from its start to the pod that stays pending.
func (d *demo) phases(ctx context.Context, policies map[policyFile]policy) (err error) {
	if d.berth, err = install.Start(ctx, d.cluster, d.options.SchedulerBinary); err != nil {
		return err
	}
	if d.started, err = d.startTime(ctx); err != nil {
		return err
	}
	d.progress("berth-scheduler is ready, pid %d", d.berth.PID())
	first, err := d.activate(ctx, policies[teamPoolsOne], policies[costAware])
	if err != nil {
		return err
	}
	d.progress("policies are Active: %s", ruleOne.describe())
	if err := d.phase(ctx, ruleOne.name, partOne, first); err != nil {
		return err
	}

	swapped, err := d.swap(ctx, policies[teamPoolsTwo])
	if err != nil {
		return fmt.Errorf("swap: %w", err)
	}
	d.progress("the new version is Active: %s", ruleTwo.describe())
	if err := d.phase(ctx, ruleTwo.name, partTwo, []PolicyResult{swapped, first[1]}); err != nil {
		return err
	}

	nowhere := newPod(partPending, 0, install.SchedulerName, "250m")
	nowhere.Labels[teamLabel] = teamNowhere
	if err := d.cluster.CreatePods(ctx, []*corev1.Pod{nowhere}); err != nil {
		return err
	}
	message, err := d.schedulingFailure(ctx, nowhere.Name)
	if err != nil {
		return err
	}
	d.progress("pending: %s: %s", nowhere.Name, message)
	d.result.Pending = append(d.result.Pending, PendingResult{Pod: nowhere.Name, Message: message})
	return d.countRestarts(ctx)
}

// activate applies policies and waits until all of them are in force.
func (d *demo) activate(ctx context.Context, policies ...policy) ([]PolicyResult, error) {
	for _, p := range policies {
		if err := d.apply(ctx, p); err != nil {
			return nil, err
		}
	}
	var results []PolicyResult
	for _, p := range policies {
		r, err := d.waitActive(ctx, p)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (d *demo) phase(ctx context.Context, name, part string, policies []PolicyResult) error {
	d.result.Phases = append(d.result.Phases, PhaseResult{Name: name, Policies: policies, Pods: phasePods, part: part})
	return d.runPods(ctx, part, install.SchedulerName, phasePods)
}

// explain adds to an error what became of berth-scheduler, if anything: it is
// then the cause.
func (d *demo) explain(err error) error {
	if d.berth == nil || d.berth.Alive() {
		return err
	}
	return fmt.Errorf("berth-scheduler has ended: %w", errors.Join(err, errors.New(d.berth.LogTail())))
}

// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// subjects are the ports and what they are compared with.
var subjects = []subject{
	{name: "NodeUnschedulable", port: "nodeunschedulable", plugin: names.NodeUnschedulable, filters: true, signs: true, focus: focus{taints: 80}},
	{name: "NodeName", port: "nodename", plugin: names.NodeName, filters: true, focus: focus{names: 70}},
	{name: "TaintToleration", port: "tainttoleration", plugin: names.TaintToleration, filters: true, scores: true, signs: true, focus: focus{taints: 90}},
	{
		name: "NodeAffinity", port: "nodeaffinity", plugin: names.NodeAffinity, filters: true, scores: true, args: &config.NodeAffinityArgs{}, skips: true, signs: true,
		focus:  focus{selectors: 70, affinity: 85},
		errors: []string{"a preferred term compares with what is no number"},
	},
	{name: "NodePorts", port: "nodeports", plugin: names.NodePorts, filters: true, signs: true, focus: focus{ports: 80}},
	{name: "ImageLocality", port: "imagelocality", plugin: names.ImageLocality, scores: true, focus: focus{images: 90}},
	{
		name: "NodeResourcesFit, least", port: "noderesourcesfit", plugin: names.NodeResourcesFit, filters: true, scores: true, signs: true, focus: focus{resources: 60},
		args: &config.NodeResourcesFitArgs{
			IgnoredResources: []string{"example.com/fpga"}, IgnoredResourceGroups: []string{"other.io"},
			ScoringStrategy: &config.ScoringStrategy{Type: config.LeastAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}},
		},
		config: "{ignoredResources: [example.com/fpga], ignoredResourceGroups: [other.io], resources: [{name: cpu}, {name: memory}]}",
	},
	{
		name: "NodeResourcesFit, most", port: "noderesourcesfit", plugin: names.NodeResourcesFit, filters: true, scores: true, signs: true, focus: focus{resources: 60},
		args: &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{Type: config.MostAllocated, Resources: []config.ResourceSpec{
			{Name: "cpu", Weight: 3}, {Name: "memory", Weight: 1}, {Name: "ephemeral-storage", Weight: 2}, {Name: "example.com/gpu", Weight: 5},
		}}},
		config: "{strategy: MostAllocated, resources: [{name: cpu, weight: 3}, {name: memory}, {name: ephemeral-storage, weight: 2}, {name: example.com/gpu, weight: 5}]}",
	},
	{
		name: "NodeResourcesFit, requested to capacity", port: "noderesourcesfit", plugin: names.NodeResourcesFit, filters: true, scores: true, signs: true, focus: focus{resources: 60},
		args: &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
			Type:      config.RequestedToCapacityRatio,
			Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 2}, {Name: "hugepages-2Mi", Weight: 3}},
			RequestedToCapacityRatio: &config.RequestedToCapacityRatioParam{Shape: []config.UtilizationShapePoint{
				{Utilization: 10, Score: 2}, {Utilization: 55, Score: 9}, {Utilization: 90, Score: 0}, {Utilization: 100, Score: 7},
			}},
		}},
		config: "{strategy: RequestedToCapacityRatio, resources: [{name: cpu}, {name: memory, weight: 2}, {name: hugepages-2Mi, weight: 3}], " +
			"shape: [{utilization: 10, score: 2}, {utilization: 55, score: 9}, {utilization: 90, score: 0}, {utilization: 100, score: 7}]}",
	},
	{
		name: "BalancedAllocation", port: "balancedallocation", plugin: names.NodeResourcesBalancedAllocation, scores: true, signs: true, focus: focus{resources: 60},
		args:   &config.NodeResourcesBalancedAllocationArgs{Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}},
		config: "{}",
	},
	{
		name: "BalancedAllocation of four", port: "balancedallocation", plugin: names.NodeResourcesBalancedAllocation, scores: true, signs: true, focus: focus{resources: 60},
		args: &config.NodeResourcesBalancedAllocationArgs{Resources: []config.ResourceSpec{
			{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}, {Name: "ephemeral-storage", Weight: 1}, {Name: "example.com/gpu", Weight: 1},
		}},
		config: "{resources: [cpu, memory, ephemeral-storage, example.com/gpu]}",
	},
	{
		name: "PodTopologySpread", port: "podtopologyspread", plugin: names.PodTopologySpread, filters: true, scores: true, skips: true,
		args:  &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting},
		focus: focus{spread: 85, selectors: 50, taints: 30, affinity: 20},
	},
	{
		name: "InterPodAffinity", port: "interpodaffinity", plugin: names.InterPodAffinity, filters: true, scores: true, skips: true,
		args:   &config.InterPodAffinityArgs{HardPodAffinityWeight: 1},
		grants: "[{resource: v1/namespaces}]",
		focus:  focus{pods: 70, selectors: 40},
	},
	{
		name: "InterPodAffinity, other arguments", port: "interpodaffinity", plugin: names.InterPodAffinity, filters: true, scores: true, skips: true,
		args:   &config.InterPodAffinityArgs{HardPodAffinityWeight: 9, IgnorePreferredTermsOfExistingPods: true},
		config: "{hardPodAffinityWeight: 9, ignorePreferredTermsOfExistingPods: true}",
		grants: "[{resource: v1/namespaces}]",
		focus:  focus{pods: 40, selectors: 40},
	},
}

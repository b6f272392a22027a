// SPDX-License-Identifier: Apache-2.0

// Command imagelocality is a port of the in-tree plugin ImageLocality.
package main

import (
	"strings"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "ImageLocality", Version: "1",
		Reads: []berth.Section{berth.PodImages, berth.PodVolumes, berth.NodeImages},
	}, plugin{})
}

const (
	mb          = 1 << 20
	least       = 23 * mb
	mostOfImage = 1000 * mb
)

// images are those of the pod by the names that nodes have.
type images []berth.ID

// Clone implements berth.State; nothing changes them.
func (i images) Clone() berth.State { return i }

type plugin struct{}

// PreScore implements berth.PreScorePlugin.
func (plugin) PreScore(c *berth.Cycle, pod berth.Pod) *berth.Status {
	var all images
	for image := range pod.Images().All() {
		all = append(all, normalized(image.Name()))
	}
	for volume := range pod.Volumes().All() {
		if image := volume.Image(); image != 0 {
			all = append(all, normalized(image))
		}
	}
	c.SetState(all)
	return nil
}

// normalized is a name with its tag.
func normalized(image berth.ID) berth.ID {
	name := image.String()
	if strings.LastIndexByte(name, ':') <= strings.LastIndexByte(name, '/') {
		return berth.Intern(name + ":latest")
	}
	return image
}

// Score implements berth.ScorePlugin.
func (plugin) Score(c *berth.Cycle, _ berth.Pod, node berth.Node) (int64, *berth.Status) {
	all, status := berth.StateOf[images](c)
	if status != nil {
		return 0, status
	}
	var sum int64
	for _, name := range all {
		if image, ok := node.Image(name); ok {
			spread := float64(image.Nodes()) / float64(c.Nodes())
			sum += int64(float64(image.Bytes()) * spread)
		}
	}
	most := int64(mostOfImage) * int64(len(all))
	sum = min(max(sum, least), most)
	return 100 * (sum - least) / (most - least), nil
}

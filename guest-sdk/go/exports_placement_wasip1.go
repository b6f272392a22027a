// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_placement

package berth

import "github.com/berth-scheduler/berth/abi"

//go:wasmexport generate_placements
func exportGeneratePlacements(frame uint32) uint32 {
	return current.call(abi.GeneratePlacements, frame)
}

//go:wasmexport score_placement
func exportScorePlacement(frame uint32) uint32 { return current.call(abi.ScorePlacement, frame) }

//go:wasmexport normalize_placement_score
func exportNormalizePlacementScore(frame uint32) uint32 {
	return current.call(abi.NormalizePlacementScore, frame)
}

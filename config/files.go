// SPDX-License-Identifier: Apache-2.0

// Package config holds the files of this folder that a program may want to
// apply: what an admin does with kubectl, berth-lab and tests do with these.
package config

import _ "embed"

// The files of the same names, as they are on disk.
var (
	//go:embed namespaces.yaml
	Namespaces []byte
	//go:embed rbac.yaml
	RBAC []byte
	//go:embed scheduler-config.yaml
	SchedulerConfig []byte
)

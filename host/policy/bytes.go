// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Bytes is an amount of memory, written as a Kubernetes quantity: 64Mi.
type Bytes int64

// String is the shortest quantity in binary units.
func (b Bytes) String() string {
	return resource.NewQuantity(int64(b), resource.BinarySI).String()
}

// MarshalJSON writes the quantity as a string.
func (b Bytes) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// maxQuantity bounds the text of a quantity before it is parsed: the parser
// keeps any number of digits.
const maxQuantity = 32

func parseBytes(text string) (Bytes, error) {
	if len(text) > maxQuantity {
		return 0, fmt.Errorf("want a quantity like 64Mi, got %d characters", len(text))
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("want a quantity like 64Mi, got %q", text)
	}
	n, ok := q.AsInt64()
	if !ok {
		return 0, fmt.Errorf("want a quantity in whole bytes, got %q", text)
	}
	return Bytes(n), nil
}

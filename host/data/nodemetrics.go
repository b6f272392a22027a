// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// nodeMetrics is what a metrics server serves.
var nodeMetrics = schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "nodes"}

// NodeMetrics fetches the use of nodes: "NODE/cpu" in millicores, "NODE/memory"
// in bytes, every other resource that is measured, in its own unit, and
// "NODE/timestamp", when that was measured, in Unix seconds.
func NodeMetrics(client dynamic.Interface) Fetch {
	return func(ctx context.Context) (map[string]float64, error) {
		list, err := client.Resource(nodeMetrics).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		values := make(map[string]float64, 2*len(list.Items))
		for i := range list.Items {
			usage, _, err := unstructured.NestedStringMap(list.Items[i].Object, "usage")
			if err != nil {
				return nil, fmt.Errorf("metrics of node %s: %w", list.Items[i].GetName(), err)
			}
			if text, ok, _ := unstructured.NestedString(list.Items[i].Object, "timestamp"); ok {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					return nil, fmt.Errorf("metrics of node %s: timestamp: want RFC 3339, got %q", list.Items[i].GetName(), text)
				}
				values[list.Items[i].GetName()+"/timestamp"] = float64(at.Unix())
			}
			for name, text := range usage {
				q, err := resource.ParseQuantity(text)
				if err != nil {
					return nil, fmt.Errorf("metrics of node %s: %s: want a quantity, got %q", list.Items[i].GetName(), name, text)
				}
				v := q.AsApproximateFloat64()
				if name == "cpu" {
					v *= 1000
				}
				values[list.Items[i].GetName()+"/"+name] = v
			}
		}
		if len(values) > maxValues {
			return nil, fmt.Errorf("want at most %d values, got %d", maxValues, len(values))
		}
		return values, nil
	}
}

// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Values are fetched at once and again, kept over failures, shared by who asks
// for the same, and no longer fetched when nobody holds them.
func TestFeeds(t *testing.T) {
	var mu sync.Mutex
	calls, fail := 0, false
	now := time.Unix(100, 0)
	fetch := func(context.Context) (map[string]float64, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if fail {
			return nil, errors.New("down")
		}
		return map[string]float64{"a": float64(min(calls, 2))}, nil
	}
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	in := NewFeeds(t.Context(), clock)
	q := Query{Source: "test", Interval: 20 * time.Millisecond, Timeout: time.Second, Fetch: fetch}
	type told struct {
		age     time.Duration
		changed bool
	}
	heard := make(chan told, 1000)
	a := in.Acquire(q, func(age time.Duration, changed bool) { heard <- told{age, changed} })
	b := in.Acquire(q, func(time.Duration, bool) {})
	if a.f != b.f {
		t.Error("want one fetcher for equal queries")
	}
	a.Tried(t.Context())
	if got := a.Last(); got == nil || !got.At.Equal(now) {
		t.Errorf("want values after the first try, got %v", got)
	}
	for i, want := range []told{{0, true}, {0, true}, {0, false}} {
		if got := <-heard; got != want {
			t.Errorf("try %d: want %v, got %v", i, want, got)
		}
	}
	mu.Lock()
	fail, now = true, now.Add(time.Minute)
	mu.Unlock()
	eventually(t, "a failure with the old values", func() bool { return (<-heard).age == time.Minute })
	if diff := cmp.Diff(map[string]float64{"a": 2}, a.Last().Values); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	b.Release()
	b.Release()
	if len(in.fetchers) != 1 {
		t.Error("want it fetched while one holds it")
	}
	a.Release()
	if len(in.fetchers) != 0 {
		t.Error("want nothing fetched when nobody holds it")
	}
	c := in.Acquire(Query{Source: "never", Interval: time.Hour, Timeout: time.Second, Fetch: func(context.Context) (map[string]float64, error) { return nil, errors.New("down") }}, func(age time.Duration, changed bool) { heard <- told{age, changed} })
	defer c.Release()
	c.Tried(t.Context())
	if c.Last() != nil {
		t.Error("want no values")
	}
	eventually(t, "a try without values", func() bool { return (<-heard).age < 0 })
}

func TestNodeMetrics(t *testing.T) {
	metrics := func(node string, usage map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": map[string]any{"name": node}, "usage": usage,
		}}
	}
	client := newClient()
	create := func(o *unstructured.Unstructured) {
		t.Helper()
		if err := client.Tracker().Create(nodeMetrics, o, ""); err != nil {
			t.Fatal(err)
		}
	}
	create(metrics("n1", map[string]any{"cpu": "1234567n", "memory": "2Ki"}))
	create(metrics("n2", map[string]any{"cpu": "2", "example.com/gpu": "1"}))
	got, err := NodeMetrics(client)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"n1/cpu": 1.234567, "n1/memory": 2048, "n2/cpu": 2000, "n2/example.com/gpu": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	create(metrics("n3", map[string]any{"cpu": "many"}))
	if _, err := NodeMetrics(client)(t.Context()); err == nil || !strings.Contains(err.Error(), `n3: cpu: want a quantity, got "many"`) {
		t.Errorf("want an error that names node and resource, got %v", err)
	}
}

func TestPrometheus(t *testing.T) {
	const good = `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"node":"n1","x":"y"},"value":[1,"0.5"]},{"metric":{"node":"n2"},"value":[1,"NaN"]},{"metric":{"node":"n3"},"value":[1,"-3e2"]}]}}`
	for _, test := range []struct {
		name, label, body string
		status            int
		want              map[string]float64
		err               string
	}{
		{name: "vector", label: "node", body: good, want: map[string]float64{"n1": 0.5, "n3": -300}},
		{name: "scalar", body: `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`, want: map[string]float64{"scalar": 7}},
		{name: "empty", label: "node", body: `{"status":"success","data":{"resultType":"vector","result":[]}}`, want: map[string]float64{}},
		{name: "no such label", label: "host", body: good, err: "want the label host on each sample"},
		{name: "ambiguous", label: "a", body: `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"1","b":"1"},"value":[1,"1"]},{"metric":{"a":"1","b":"2"},"value":[1,"1"]}]}}`, err: "aggregate by it"},
		{name: "matrix", body: `{"status":"success","data":{"resultType":"matrix","result":[]}}`, err: `want a vector or a scalar, got "matrix"`},
		{name: "refused", body: `{"status":"error","errorType":"bad_data","error":"parse error"}`, status: 400, err: `want status 200, got 400: query: want success, got "bad_data"`},
		{name: "not Prometheus", body: "secret: 1", err: "want an answer of Prometheus' HTTP API"},
		{name: "redirect", body: "", status: 302, err: "got 302"},
		{name: "bad sample", label: "a", body: `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"1"},"value":["1"]}]}}`, err: "want a time and a number"},
		{name: "huge", body: strings.Repeat(" ", maxAnswer+1), err: "got more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prom/api/v1/query" || r.FormValue("query") != "a + b" {
					t.Errorf("want the query, got %s", r.URL)
				}
				if test.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
				_, _ = fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			got, err := Prometheus{URL: server.URL + "/prom/", Query: "a + b", Label: test.label}.Fetch()(t.Context())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("want an error with %q, got %v", test.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// The token and the authority are read from files at each query.
func TestPrometheusCredentials(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer abc" {
			t.Errorf("want the token, got %q", got)
		}
		_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	p := Prometheus{URL: server.URL, Query: "1", TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca")}
	if _, err := p.Fetch()(t.Context()); err == nil {
		t.Error("no files: want an error")
	}
	for name, content := range map[string][]byte{
		"token": []byte("abc\n"), "ca": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := p.Fetch()(t.Context()); err != nil || got["scalar"] != 7 {
		t.Errorf("want 7, got %v, %v", got, err)
	}
	p.CAFile = filepath.Join(dir, "token")
	if _, err := p.Fetch()(t.Context()); err == nil || !strings.Contains(err.Error(), "want certificates") {
		t.Errorf("want an error about certificates, got %v", err)
	}
}

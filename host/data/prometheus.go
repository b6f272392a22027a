// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// maxAnswer bounds an answer of Prometheus, in bytes.
const maxAnswer = 16 << 20

// Prometheus is a query for one number a label value.
type Prometheus struct {
	URL       string // of the server; /api/v1/query comes behind it
	Query     string
	Label     string // of each sample whose value is the key; the others are ignored
	TokenFile string // sent as a bearer token; read anew for each query
	CAFile    string // whom to trust; the system's if empty
}

// Fetch is the query. Redirects aren't followed and proxies not used: the
// operator named one server. What the server says isn't repeated in errors but
// for Prometheus' own word.
func (p Prometheus) Fetch() Fetch {
	return func(ctx context.Context) (map[string]float64, error) {
		tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
		if p.CAFile != "" {
			pem, err := os.ReadFile(p.CAFile)
			if err != nil {
				return nil, err
			}
			if tlsConfig.RootCAs = x509.NewCertPool(); !tlsConfig.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("%s: want certificates in PEM, got none", p.CAFile)
			}
		}
		at := strings.TrimSuffix(p.URL, "/") + "/api/v1/query?" + url.Values{"query": {p.Query}}.Encode()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		if p.TokenFile != "" {
			token, err := os.ReadFile(p.TokenFile)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		}
		transport := &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}
		client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		if err != nil {
			return nil, err
		}
		if len(body) > maxAnswer {
			return nil, fmt.Errorf("want at most %d bytes, got more", maxAnswer)
		}
		values, err := p.read(body)
		if err != nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("want status 200, got %d: %w", resp.StatusCode, err)
		}
		return values, err
	}
}

// scalarKey is the key of a scalar.
const scalarKey = "scalar"

// read takes an answer of the HTTP API apart: a vector, or a scalar. Numbers that
// aren't finite are left out.
func (p Prometheus) read(body []byte) (map[string]float64, error) {
	var answer struct {
		Status    string `json:"status"`
		ErrorType string `json:"errorType"`
		Data      struct {
			ResultType string          `json:"resultType"`
			Result     json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil, errors.New("want an answer of Prometheus' HTTP API, got something else")
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("query: want success, got %s", quotedWord(answer.ErrorType))
	}
	values := map[string]float64{}
	switch answer.Data.ResultType {
	case "scalar":
		var s sample
		if err := json.Unmarshal(answer.Data.Result, &s); err != nil {
			return nil, err
		}
		s.into(values, scalarKey)
		return values, nil
	case "vector":
	default:
		return nil, fmt.Errorf("query: want a vector or a scalar, got %s", quotedWord(answer.Data.ResultType))
	}
	var vector []struct {
		Metric map[string]string `json:"metric"`
		Value  sample            `json:"value"`
	}
	if err := json.Unmarshal(answer.Data.Result, &vector); err != nil {
		return nil, err
	}
	if len(vector) > maxValues {
		return nil, fmt.Errorf("query: want at most %d samples, got %d", maxValues, len(vector))
	}
	seen := make(map[string]bool, len(vector))
	for _, v := range vector {
		key, ok := v.Metric[p.Label]
		if !ok || key == "" {
			return nil, fmt.Errorf("query: want the label %s on each sample, got one without it", p.Label)
		}
		if seen[key] {
			return nil, fmt.Errorf("query: want one sample for each value of label %q, got more for %q: aggregate by it", p.Label, key)
		}
		seen[key] = true
		v.Value.into(values, key)
	}
	return values, nil
}

// quotedWord is a word of the answer, cut.
func quotedWord(s string) string { return strconv.Quote(s[:min(len(s), 32)]) }

// sample is a pair of a time and a number as text.
type sample float64

// UnmarshalJSON reads the pair.
func (s *sample) UnmarshalJSON(data []byte) error {
	var pair []any
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) == 2 {
		if text, ok := pair[1].(string); ok {
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				*s = sample(f)
				return nil
			}
		}
	}
	return errors.New("query: want a time and a number for each sample")
}

func (s sample) into(values map[string]float64, key string) {
	if f := float64(s); !math.IsNaN(f) && !math.IsInf(f, 0) {
		values[key] = f
	}
}

// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Unready says that a declared resource can't be read now. It may become
// readable without a change of the policy.
type Unready struct {
	Resource string
	cause    error
	text     string
}

func (e *Unready) Error() string { return "resource " + e.Resource + ": " + e.text }

func (e *Unready) Unwrap() error { return e.cause }

// lasting says whether an error of the API server is an answer and not a
// failure: the same question gets it again until someone changes something.
func lasting(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err)
}

// unready makes the one line that tells an operator what to do.
func unready(name string, gvr schema.GroupVersionResource, err error) error {
	e := &Unready{Resource: name, cause: err}
	switch {
	case apierrors.IsForbidden(err):
		e.text = fmt.Sprintf("want the scheduler allowed to list and watch it, got %q: bind the scheduler's account to a ClusterRole with the rule {apiGroups: [%q], resources: [%s], verbs: [list, watch]}", said(err), gvr.Group, gvr.Resource)
	case apierrors.IsNotFound(err):
		e.text = "want it served by the API server, got NotFound: is its CustomResourceDefinition applied, or what serves it installed, and is this the version?"
	case errors.Is(err, context.DeadlineExceeded):
		e.text = "want its first list in time, got none yet"
	default:
		e.text = "list and watch: " + said(err)
	}
	return e
}

// maxSaid bounds what a message repeats of an error.
const maxSaid = 300

// said is an error as one line.
func said(err error) string {
	if s := (apierrors.APIStatus)(nil); errors.As(err, &s) && s.Status().Message != "" {
		err = errors.New(s.Status().Message)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}

// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
)

// ValueOf writes a value record of v: a runtime.Object, through Tree, or a tree
// as abi.EncodeValue takes it.
func ValueOf(v any) ([]byte, error) {
	if obj, ok := v.(runtime.Object); ok {
		t, err := Tree(obj)
		if err != nil {
			return nil, err
		}
		v = t
	}
	return abi.EncodeValue(v)
}

// FromJSON reads one JSON value into a tree for abi.EncodeValue. A number with
// a fraction or an exponent is a float64, any other an int64; one out of the
// range of int64 is a float64 too. Text that looks like a quantity stays text.
func FromJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("value from JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("value from JSON: want one value, got more behind it")
	}
	v, err := tree(v)
	if err != nil {
		return nil, fmt.Errorf("value from JSON: %w", err)
	}
	return v, nil
}

// Tree is an object as a tree for abi.EncodeValue, with the field names of its
// JSON form. Where the object's Go type has a quantity the tree has an
// abi.Quantity; in an Unstructured object, which has no such types, quantities
// stay text. metadata.managedFields is left out.
func Tree(obj runtime.Object) (any, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("value of an object: want one, got none")
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("value of %T: %w", obj, err)
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	}
	v, err := tree(m)
	if err != nil {
		return nil, fmt.Errorf("value of %T: %w", obj, err)
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		return v, nil
	}
	return quantities(reflect.ValueOf(obj), v), nil
}

// tree makes v one of the types that abi.EncodeValue takes, and its text UTF-8.
func tree(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, nil
	case string:
		return intern.UTF8(v), nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, fmt.Errorf("want a number in the range of a double, got %s", v)
		}
		return f, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			e, err := tree(v[i])
			if err != nil {
				return nil, err
			}
			list[i] = e
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			e, err := tree(v[k])
			if err != nil {
				return nil, err
			}
			m[intern.UTF8(k)] = e
		}
		return m, nil
	}
	return nil, fmt.Errorf("want a tree of JSON-like values, got a %T", v)
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// quantities walks an object and its tree together and returns the tree with
// the texts of the object's quantities made abi.Quantity.
func quantities(v reflect.Value, tree any) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return tree
		}
		return quantities(v.Elem(), tree)
	case reflect.Slice:
		if list, ok := tree.([]any); ok && len(list) == v.Len() {
			for i := range list {
				list[i] = quantities(v.Index(i), list[i])
			}
		}
	case reflect.Map:
		if m, ok := tree.(map[string]any); ok && v.Type().Key().Kind() == reflect.String {
			for k, e := range v.Seq2() {
				if child, ok := m[intern.UTF8(k.String())]; ok {
					m[intern.UTF8(k.String())] = quantities(e, child)
				}
			}
		}
	case reflect.Struct:
		if v.Type() == quantityType {
			text, ok := tree.(string)
			if !ok {
				return tree
			}
			q := v.Interface().(resource.Quantity)
			return abi.Quantity{Text: text, Value: whole(&q), Milli: milli(&q)}
		}
		if m, ok := tree.(map[string]any); ok {
			structQuantities(v, m)
		}
	}
	return tree
}

func structQuantities(v reflect.Value, m map[string]any) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			quantities(v.Field(i), m)
		} else if child, ok := m[name]; ok {
			m[name] = quantities(v.Field(i), child)
		}
	}
}

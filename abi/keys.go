// SPDX-License-Identifier: Apache-2.0

package abi

// CheckKeys says whether a map has the keys that it may and must have, with
// values of their types. Types are those of the tables: string, int, float
// (an int is one), bool, map, any, and lists of strings, ints or maps.
func CheckKeys(m Value, keys []KeyInfo) error {
	for i := range m.Len() {
		name := m.Key(i)
		if k := keyNamed(keys, name); k == nil {
			return ValueError("unknown key \"" + name + "\"")
		} else if !ofType(m.At(i), k.Type) {
			return ValueError("key \"" + name + "\": want " + k.Type + ", got " + m.At(i).Kind().String())
		}
	}
	for i := range keys {
		if k := &keys[i]; k.Required {
			if _, ok := m.Get(k.Key); !ok {
				return ValueError("key \"" + k.Key + "\" is missing")
			}
		}
	}
	return nil
}

func keyNamed(keys []KeyInfo, name string) *KeyInfo {
	for i := range keys {
		if keys[i].Key == name {
			return &keys[i]
		}
	}
	return nil
}

func ofType(v Value, want string) bool {
	every := func(kind ValueKind) bool {
		for i := range v.Len() {
			if v.At(i).Kind() != kind {
				return false
			}
		}
		return v.Kind() == List
	}
	switch want {
	case "string":
		return v.Kind() == String
	case "int":
		return v.Kind() == Int
	case "float":
		return v.Kind() == Float || v.Kind() == Int
	case "bool":
		return v.Kind() == Bool
	case "map":
		return v.Kind() == Map
	case "any":
		return true
	case "list of strings":
		return every(String)
	case "list of ints":
		return every(Int)
	case "list of maps":
		return every(Map)
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"iter"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Guest memory is little-endian, as is every machine that runs the tests.
func u16(p unsafe.Pointer, off uintptr) uint16 { return *(*uint16)(unsafe.Add(p, off)) }
func u32(p unsafe.Pointer, off uintptr) uint32 { return *(*uint32)(unsafe.Add(p, off)) }
func u64(p unsafe.Pointer, off uintptr) uint64 { return *(*uint64)(unsafe.Add(p, off)) }
func i32(p unsafe.Pointer, off uintptr) int32  { return *(*int32)(unsafe.Add(p, off)) }
func i64(p unsafe.Pointer, off uintptr) int64  { return *(*int64)(unsafe.Add(p, off)) }

func setU32(p unsafe.Pointer, off uintptr, v uint32) { *(*uint32)(unsafe.Add(p, off)) = v }
func setI64(p unsafe.Pointer, off uintptr, v int64)  { *(*int64)(unsafe.Add(p, off)) = v }

// item is a structure in a view record. The types of what lists hold are items.
type item struct{ rec, at unsafe.Pointer }

func (i item) id(off uintptr) ID      { return ID(u32(i.at, off)) }
func (i item) u32(off uintptr) uint32 { return u32(i.at, off) }
func (i item) i32(off uintptr) int32  { return i32(i.at, off) }
func (i item) i64(off uintptr) int64  { return i64(i.at, off) }

// str is an inline string of the record, valid during the call.
func (i item) str(off uintptr) string {
	return unsafe.String((*byte)(unsafe.Add(i.rec, u32(i.at, off))), u32(i.at, off+4))
}

// inline is a list that a structure holds.
func inline[T Item](i item, off uintptr, stride uint32) List[T] {
	return List[T]{i.rec, unsafe.Add(i.rec, u32(i.at, off)), u32(i.at, off+4), stride}
}

// Item is what a List holds.
type Item interface {
	~struct{ rec, at unsafe.Pointer }
}

// List is a list in a view record. Reading it doesn't allocate. It is valid
// during the call.
type List[T Item] struct {
	rec, first  unsafe.Pointer
	len, stride uint32
}

// Len is the number of elements.
func (l List[T]) Len() int { return int(l.len) }

// At is element i, in 0..Len()-1; it panics for another i.
func (l List[T]) At(i int) T {
	if uint(i) >= uint(l.len) {
		panic("berth: index out of range")
	}
	return l.at(uint32(i))
}

func (l List[T]) at(i uint32) T {
	return T(item{l.rec, unsafe.Add(l.first, uintptr(i)*uintptr(l.stride))})
}

// All ranges over the elements.
func (l List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range l.len {
			if !yield(l.at(i)) {
				return
			}
		}
	}
}

// IDs is a list of interned strings in a view record, valid during the call.
type IDs struct {
	first unsafe.Pointer
	len   uint32
}

func (i item) ids(off uintptr) IDs {
	return IDs{unsafe.Add(i.rec, u32(i.at, off)), u32(i.at, off+4)}
}

// Len is the number of strings.
func (l IDs) Len() int { return int(l.len) }

// At is string i, in 0..Len()-1; it panics for another i.
func (l IDs) At(i int) ID {
	if uint(i) >= uint(l.len) {
		panic("berth: index out of range")
	}
	return ID(u32(l.first, uintptr(i)*4))
}

// Contains says whether id is in the list.
func (l IDs) Contains(id ID) bool {
	for i := range uintptr(l.len) {
		if ID(u32(l.first, i*4)) == id {
			return true
		}
	}
	return false
}

// find is the element whose first field is id, in n elements from first on that
// are sorted by it; nil if there is none. It is what policies spend their time
// in, so it is one loop without calls.
func find(first unsafe.Pointer, n, stride uint32, id ID) unsafe.Pointer {
	lo, hi := uintptr(0), uintptr(n)
	for lo < hi {
		mid := (lo + hi) / 2
		p := unsafe.Add(first, mid*uintptr(stride))
		switch k := *(*ID)(p); {
		case k == id:
			return p
		case k < id:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// lookup is find in a section that is a list; it is the same loop, since a call
// costs a module as much as two rounds of it.
func lookup(rec unsafe.Pointer, index uintptr, id ID) unsafe.Pointer {
	off := u32(rec, abi.RecordTable+4*index)
	if off == 0 {
		return section(rec, index)
	}
	p := unsafe.Add(rec, off)
	lo, hi, stride := uintptr(0), uintptr(u32(p, abi.ListCount)), uintptr(u32(p, abi.ListStride))
	p = unsafe.Add(p, abi.ListEntries)
	for lo < hi {
		mid := (lo + hi) / 2
		at := unsafe.Add(p, mid*stride)
		k := *(*ID)(at)
		if k == id {
			return at
		}
		if k < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return nil
}

// section is where a section of a record is; nil if it is empty.
func section(rec unsafe.Pointer, index uintptr) unsafe.Pointer {
	off := u32(rec, abi.RecordTable+4*index)
	if off == 0 {
		current.absent(u32(rec, abi.RecordKind), uint32(index))
		return nil
	}
	return unsafe.Add(rec, off)
}

// list is a section that is a list.
func list[T Item](rec unsafe.Pointer, index uintptr) List[T] {
	p := section(rec, index)
	if p == nil {
		return List[T]{}
	}
	return List[T]{rec, unsafe.Add(p, abi.ListEntries), u32(p, abi.ListCount), u32(p, abi.ListStride)}
}

// absent panics if a policy reads a section that it didn't declare: were it
// just empty, a forgotten line would be a wrong decision that nobody notices.
func (g *guest) absent(kind, index uint32) {
	declared, table := g.nodeReads, nodeSections
	if kind == abi.PodRecord {
		declared, table = g.podReads, podSections
	}
	if declared&(1<<index) == 0 {
		panic("berth: the policy reads " + string(table[index]) + " without declaring it: add it to Policy.Reads")
	}
}

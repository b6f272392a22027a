// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// What stands in the module as given at index 0 is joined by what the weaver
// adds at 1: each of these modules would be valid after weaving without checks.
func TestIndices(t *testing.T) {
	v := valid()
	for name, tt := range map[string]struct {
		s    sections
		want string
	}{
		"global.set":              {v.body("\x42\x00\x24\x01\x41\x00"), "global index: want less than 1, got 1"},
		"global.get":              {v.body("\x23\x01\x1a\x41\x00"), "global index: want less than 1, got 1"},
		"local.get":               {v.body("\x20\x01"), "local index: want less than 1, got 1"},
		"local.set":               {v.body("\x42\x00\x21\x01\x41\x00"), "local index: want less than 1, got 1"},
		"local.tee":               {v.body("\x42\x00\x22\x01\x1a\x41\x00"), "local index: want less than 1, got 1"},
		"br":                      {v.body("\x41\x00\x0c\x01"), "label: want less than 1, got 1"},
		"br_if in a block":        {v.body("\x02\x40\x20\x00\x0d\x02\x0b\x41\x00"), "label: want less than 2, got 2"},
		"br_table":                {v.body("\x41\x00\x20\x00\x0e\x01\x00\x01"), "label: want less than 1, got 1"},
		"call":                    {v.body("\x42\x00\x10\x02\x1a\x41\x00"), "function index: want less than 2, got 2"},
		"ref.func":                {v.body("\xd2\x02\x1a\x41\x00"), "function index: want less than 2, got 2"},
		"call_indirect type":      {v.body("\x42\x00\x41\x00\x11\x02\x00\x1a\x41\x00"), "type index: want less than 2, got 2"},
		"call_indirect table":     {v.body("\x41\x00\x41\x00\x11\x01\x01"), "table index: want less than 1, got 1"},
		"block type":              {v.body("\x42\x00\x02\x02\x0b\x1a\x41\x00"), "type index: want less than 2, got 2"},
		"block type, large":       {v.body("\x02\xff\xff\xff\xff\x0f\x0b\x41\x00"), "type index: want less than 2, got 4294967295"},
		"table.get":               {v.body("\x41\x00\x25\x01\x1a\x41\x00"), "table index: want less than 1, got 1"},
		"table.size":              {v.body("\xfc\x10\x01"), "table index: want less than 1, got 1"},
		"table.init table":        {v.body("\x41\x00\x41\x00\x41\x00\xfc\x0c\x00\x01\x41\x00"), "table index: want less than 1, got 1"},
		"table.init segment":      {v.body("\x41\x00\x41\x00\x41\x00\xfc\x0c\x01\x00\x41\x00"), "element segment: want less than 1, got 1"},
		"table.copy":              {v.body("\x41\x00\x41\x00\x41\x00\xfc\x0e\x00\x01\x41\x00"), "table index: want less than 1, got 1"},
		"elem.drop":               {v.body("\xfc\x0d\x01\x41\x00"), "element segment: want less than 1, got 1"},
		"data.drop":               {v.body("\xfc\x09\x01\x41\x00"), "data segment: want less than 1, got 1"},
		"memory.init":             {v.body("\x41\x00\x41\x00\x41\x00\xfc\x08\x01\x00\x41\x00"), "data segment: want less than 1, got 1"},
		"memory.init memory":      {v.body("\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x01\x41\x00"), "memory index: want 0, got 1"},
		"memory.copy from":        {v.body("\x41\x00\x41\x00\x41\x00\xfc\x0a\x00\x01\x41\x00"), "memory index: want 0, got 1"},
		"memory.fill":             {v.body("\x41\x00\x41\x00\x41\x00\xfc\x0b\x01\x41\x00"), "memory index: want 0, got 1"},
		"memory.size":             {v.body("\x3f\x01"), "memory index: want 0, got 1"},
		"memory.grow":             {v.body("\x41\x00\x40\x01"), "memory index: want 0, got 1"},
		"memory argument":         {v.body("\x41\x00\x28\x42\x00\x00"), "alignment 0x42 is not allowed"},
		"data.drop without count": {v.without(secDataCount).body("\xfc\x09\x00\x41\x00"), "no data count section"},

		"function type":        {v.with(secFunction, vec("\x02")), "type index: want less than 2, got 2"},
		"import type":          {v.with(secImport, vec(str("env")+str("f")+"\x00\x02")), "type index: want less than 2, got 2"},
		"export function":      {v.with(secExport, vec(str("x")+"\x00\x02")), `export "x": function index: want less than 2, got 2`},
		"export table":         {v.with(secExport, vec(str("x")+"\x01\x01")), `export "x": table index: want less than 1, got 1`},
		"export memory":        {v.with(secExport, vec(str("x")+"\x02\x01")), `export "x": memory index: want 0, got 1`},
		"export global":        {v.with(secExport, vec(str("x")+"\x03\x01")), `export "x": global index: want less than 1, got 1`},
		"export kind":          {v.with(secExport, vec(str("x")+"\x04\x00")), `export "x": kind 4 is not allowed`},
		"start":                {v.with(secStart, "\x02"), "start section: function index: want less than 2, got 2"},
		"global from itself":   {v.with(secGlobal, vec("\x7e\x00\x23\x00\x0b")), "global index: want less than 0, got 0"},
		"global from fuel":     {v.with(secGlobal, vec("\x7e\x00\x23\x01\x0b")), "global index: want less than 0, got 1"},
		"global with function": {v.with(secGlobal, vec("\x70\x00\xd2\x02\x0b")), "function index: want less than 2, got 2"},
		"global not constant":  {v.with(secGlobal, vec("\x7f\x00\x41\x00\x41\x00\x6a\x0b")), "instruction 0x6a is not allowed"},
		"element offset":       {v.with(secElement, vec("\x00\x23\x01\x0b\x01\x01")), "global index: want less than 1, got 1"},
		"element function":     {v.with(secElement, vec("\x00\x41\x00\x0b\x01\x02")), "function index: want less than 2, got 2"},
		"element expression":   {v.with(secElement, vec("\x04\x41\x00\x0b\x01\xd2\x02\x0b")), "function index: want less than 2, got 2"},
		"element table":        {v.with(secElement, vec("\x02\x01\x41\x00\x0b\x00\x01\x01")), "table index: want less than 1, got 1"},
		"element flags":        {v.with(secElement, vec("\x08\x41\x00\x0b\x01\x01")), "flags 0x8 are not allowed"},
		"data offset":          {v.with(secData, vec("\x00\x23\x01\x0b"+str("hi"))), "global index: want less than 1, got 1"},
		"data memory":          {v.with(secData, vec("\x02\x01\x41\x00\x0b"+str("hi"))), "memory index: want 0, got 1"},
	} {
		refused(t, name, tt.s, DefaultLimits(), tt.want)
	}
}

// The memory that the weaver adds is not there for a module without one.
func TestNoMemory(t *testing.T) {
	v := valid().without(secMemory, secData, secDataCount).with(secExport, vec(str("run")+"\x00\x01"))
	if _, err := Weave(v.wasm(), DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]sections{
		"load":        v.body("\x20\x00\x28\x02\x00"),
		"store":       v.body("\x20\x00\x20\x00\x36\x02\x00\x41\x00"),
		"memory.size": v.body("\x3f\x00"),
		"memory.grow": v.body("\x20\x00\x40\x00"),
		"memory.fill": v.body("\x41\x00\x41\x00\x41\x00\xfc\x0b\x00\x41\x00"),
		"v128.load":   v.body("\x20\x00\xfd\x00\x04\x00\x1a\x41\x00"),
		"lane":        v.body("\x20\x00\xfd\x0c0123456789abcdef\xfd\x54\x00\x00\x00\x1a\x41\x00"),
		"data":        v.with(secData, vec("\x00\x41\x00\x0b"+str("hi"))),
		"export":      v.with(secExport, vec(str("memory")+"\x02\x00")),
	} {
		refused(t, name, s, DefaultLimits(), "the module has no memory")
	}
	refused(t, "table", v.without(secTable, secElement).body("\x41\x00\x41\x00\x11\x01\x00"), DefaultLimits(), "table index: want less than 0, got 0")
}

func TestRefused(t *testing.T) {
	v := valid()
	for name, tt := range map[string]struct {
		s    sections
		want string
	}{
		"memory import":      {v.with(secImport, vec(str("env")+str("m")+"\x02\x00\x01")), `"env" "m": want a function, got a memory`},
		"global import":      {v.with(secImport, vec(str("env")+str("g")+"\x03\x7f\x00")), `"env" "g": want a function, got a global`},
		"table import":       {v.with(secImport, vec(str("env")+str("t")+"\x01\x70\x00\x01")), `"env" "t": want a function, got a table`},
		"fuel export":        {v.with(secExport, vec(str("berth:fuel")+"\x03\x00")), `export "berth:fuel": the name is reserved`},
		"budget export":      {v.with(secExport, vec(str("berth:budget")+"\x00\x00")), `export "berth:budget": the name is reserved`},
		"stack export":       {v.with(secExport, vec(str("berth:stack")+"\x02\x00")), `export "berth:stack": the name is reserved`},
		"two memories":       {v.with(secMemory, vec("\x00\x01", "\x00\x01")), "want at most 1 memory, got 2"},
		"shared memory":      {v.with(secMemory, vec("\x03\x01\x02")), "flags 0x3 are not allowed"},
		"memory64":           {v.with(secMemory, vec("\x04\x01")), "flags 0x4 are not allowed"},
		"memory upside down": {v.with(secMemory, vec("\x01\x03\x02")), "want a minimum of at most 2, got 3"},
		"table of numbers":   {v.with(secTable, vec("\x7f\x00\x01")), "element type 0x7f is not allowed"},
		"struct type":        {v.with(secType, vec("\x5f\x00", "\x60\x00\x00")), "want a function type (0x60), got 0x5f"},
		"value type":         {v.with(secType, vec("\x60\x01\x6e\x00")), "value type 0x6e is not allowed"},
		"local type":         {v.with(secCode, vec(fn("\x01\x01\x40", "\x20\x00"))), "value type 0x40 is not allowed"},
		"block value type":   {v.body("\x02\x6e\x0b\x41\x00"), "value type 0x6e is not allowed"},
		"mutability":         {v.with(secGlobal, vec("\x7e\x02\x42\x00\x0b")), "mutability: want 0 or 1, got 2"},

		"try":           {v.body("\x06\x40\x0b\x20\x00"), "instruction 0x6 is not allowed"},
		"throw":         {v.body("\x08\x00"), "instruction 0x8 is not allowed"},
		"try_table":     {v.body("\x1f\x40\x00\x0b\x20\x00"), "instruction 0x1f is not allowed"},
		"return_call":   {v.body("\x12\x00"), "instruction 0x12 is not allowed"},
		"call_ref":      {v.body("\x14\x00"), "instruction 0x14 is not allowed"},
		"atomic":        {v.body("\xfe\x03\x00\x20\x00"), "instruction 0xfe is not allowed"},
		"gc":            {v.body("\xfb\x00\x00"), "instruction 0xfb is not allowed"},
		"relaxed":       {v.body("\xfd\x80\x02"), "instruction 0xfd 256 is not allowed"},
		"misc":          {v.body("\xfc\x12\x00"), "instruction 0xfc 18 is not allowed"},
		"ref.eq":        {v.body("\xd3"), "instruction 0xd3 is not allowed"},
		"code left":     {v.body("\x20\x00\x0b\x01"), "bytes after the end"},
		"else":          {v.body("\x02\x40\x05\x0b\x20\x00"), "else without if"},
		"two elses":     {v.body("\x20\x00\x04\x40\x05\x05\x0b\x20\x00"), "else without if"},
		"no end":        {v.body("\x02\x40"), "unexpected end"},
		"body cut":      {v.with(secCode, "\x01\x7f\x00"), "unexpected end"},
		"body count":    {v.with(secCode, vec()), "want 1 bodies, got 0"},
		"no code":       {v.without(secCode), "want 1 bodies, got 0"},
		"entries":       {v.with(secType, "\x7f"), "types: want 127 entries, got 0 bytes"},
		"left over":     {v.with(secStart, "\x00\x00"), "start section: 1 bytes after the last entry"},
		"data count":    {v.with(secDataCount, "\x02"), "want 2 segments, got 1"},
		"long integer":  {v.with(secStart, "\x80\x80\x80\x80\x80\x00"), "longer than 32 bits"},
		"large integer": {v.with(secStart, "\xff\xff\xff\xff\x1f"), "longer than 32 bits"},
		"block type":    {v.body("\x02\x80\x80\x80\x80\x10\x0b"), "longer than 33 bits"},
	} {
		refused(t, name, tt.s, DefaultLimits(), tt.want)
	}
}

func TestNotAModule(t *testing.T) {
	wasm := valid().wasm()
	section := func(id byte, content string) []byte { return appendSection(slices.Clone(header), id, []byte(content)) }
	for name, tt := range map[string]struct {
		wasm []byte
		want string
	}{
		"nothing":   {nil, "want the header of a core module"},
		"text":      {[]byte("(module)"), "want the header of a core module"},
		"component": {[]byte("\x00asm\x0d\x00\x01\x00"), "want the header of a core module"},
		"cut":       {wasm[:len(wasm)-1], "section at byte"},
		"twice":     {append(section(secStart, "\x00"), section(secStart, "\x00")[8:]...), "repeated or out of order"},
		"order":     {append(section(secCode, "\x00"), section(secType, "\x00")[8:]...), "repeated or out of order"},
		"tags":      {section(13, "\x01\x00\x00"), "id 13 is not allowed"},
		"custom":    {section(secCustom, "\x05abc"), "custom section at byte 8: name: "},
	} {
		for what, f := range map[string]func([]byte) error{
			"weave":           func(b []byte) error { _, err := Weave(b, DefaultLimits()); return err },
			"parse interface": func(b []byte) error { _, err := ParseInterface(b); return err },
			"custom section":  func(b []byte) error { _, _, err := CustomSection(b, "x"); return err },
			"append":          func(b []byte) error { _, err := AppendCustomSection(b, "x", nil); return err },
			"remove":          func(b []byte) error { _, err := RemoveExports(b, "x"); return err },
		} {
			if err := f(tt.wasm); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: want %q, got %v", name, what, tt.want, err)
			}
		}
	}
}

func refused(t *testing.T, name string, s sections, limits Limits, want string) {
	t.Helper()
	_, err := Weave(s.wasm(), limits)
	if err == nil || !strings.HasPrefix(err.Error(), "weave: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: want %q, got %v", name, want, err)
	}
}

// twice is a module with two functions of this code.
func twice(code string) sections {
	return valid().with(secFunction, vec("\x01", "\x01")).with(secCode, vec(fn("", code), fn("", code)))
}

// Each of these keeps wazero's compiler busy for 4 to 120 seconds.
func TestBombs(t *testing.T) {
	v := valid()
	targets := strings.Repeat("\x00", 100_001)
	for name, s := range map[string]sections{
		"blocks":   v.body(strings.Repeat("\x02\x40", 30_000) + strings.Repeat("\x0b", 30_000) + "\x20\x00"),
		"ifs":      v.body(strings.Repeat("\x20\x00\x04\x40\x0b", 20_000) + "\x20\x00"),
		"loops":    v.body(strings.Repeat("\x03\x40", 2048) + strings.Repeat("\x20\x00\x0d\x00\x0b", 2048) + "\x20\x00"),
		"locals":   v.with(secCode, vec(fn("\x01"+uleb(40_000)+"\x7e", strings.Repeat("\x20\x00\x04\x40\x0b", 500)+"\x20\x00"))),
		"br_table": v.body("\x20\x00\x20\x00\x0e" + uleb(100_000) + targets),
		"body":     v.body(strings.Repeat("\x20\x00\x1a", 300_000) + "\x20\x00"),
	} {
		_, err := Weave(s.wasm(), DefaultLimits())
		if limit := (*LimitError)(nil); !errors.As(err, &limit) {
			t.Errorf("%s: want a limit, got %v", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	v := valid()
	nest := strings.Repeat("\x02\x40", 5) + strings.Repeat("\x0b", 5) + "\x20\x00"
	table := "\x20\x00\x20\x00\x0e\x03\x00\x00\x00\x00"
	for name, tt := range map[string]struct {
		s     sections
		limit func(*Limits)
		want  LimitError
	}{
		"module bytes":  {v, func(l *Limits) { l.ModuleBytes = 8 }, LimitError{"module", "bytes", 8, int64(len(v.wasm()))}},
		"sections":      {v, func(l *Limits) { l.Sections = 3 }, LimitError{"module", "sections", 3, 4}},
		"types":         {v, func(l *Limits) { l.Types = 1 }, LimitError{"module", "types", 1, 2}},
		"params":        {v, func(l *Limits) { l.Params = 0 }, LimitError{"type", "params", 0, 1}},
		"results":       {v, func(l *Limits) { l.Results = 0 }, LimitError{"type", "results", 0, 1}},
		"imports":       {v, func(l *Limits) { l.Imports = 0 }, LimitError{"module", "imports", 0, 1}},
		"functions":     {v, func(l *Limits) { l.Functions = 0 }, LimitError{"module", "functions", 0, 1}},
		"globals":       {v, func(l *Limits) { l.Globals = 0 }, LimitError{"module", "globals", 0, 1}},
		"tables":        {v, func(l *Limits) { l.Tables = 0 }, LimitError{"module", "tables", 0, 1}},
		"exports":       {v, func(l *Limits) { l.Exports = 1 }, LimitError{"module", "exports", 1, 2}},
		"elements":      {v, func(l *Limits) { l.Elements = 0 }, LimitError{"module", "elements", 0, 1}},
		"entries":       {v, func(l *Limits) { l.ElementEntries = 0 }, LimitError{"module", "element entries", 0, 1}},
		"data":          {v, func(l *Limits) { l.DataSegments = 0 }, LimitError{"module", "data segments", 0, 1}},
		"body":          {v, func(l *Limits) { l.BodyBytes = 3 }, LimitError{"function 1", "body bytes", 3, 4}},
		"locals":        {v.with(secCode, vec(fn("\x02\x05\x7f\x06\x7e", "\x20\x00"))), func(l *Limits) { l.Locals = 11 }, LimitError{"body", "locals", 11, 12}},
		"many locals":   {v.with(secCode, vec(fn("\x01\xff\xff\xff\xff\x0f\x7e", "\x20\x00"))), func(*Limits) {}, LimitError{"body", "locals", 512, 1 << 32}},
		"nesting":       {v.body(nest), func(l *Limits) { l.Nesting = 4 }, LimitError{"body", "nesting", 4, 5}},
		"blocks":        {v.body(nest), func(l *Limits) { l.Blocks = 4 }, LimitError{"body", "blocks", 4, 5}},
		"block locals":  {v.body(nest), func(l *Limits) { l.BlockLocals = 4 }, LimitError{"body", "blocks times locals", 4, 5}},
		"br_table":      {v.body(table), func(l *Limits) { l.BranchTable = 3 }, LimitError{"body", "branch table", 3, 4}},
		"br_tables":     {v.body(table + table[2:]), func(l *Limits) { l.BranchTargets = 7 }, LimitError{"body", "branch targets", 7, 8}},
		"loops":         {v.body("\x03\x40\x0b\x03\x40\x0b\x20\x00"), func(l *Limits) { l.Loops = 1 }, LimitError{"body", "loops", 1, 2}},
		"loop nesting":  {v.body("\x03\x40\x03\x40\x0b\x0b\x20\x00"), func(l *Limits) { l.LoopNesting = 1 }, LimitError{"body", "loops within loops", 1, 2}},
		"all blocks":    {twice(nest), func(l *Limits) { l.TotalBlockLocals = 9 }, LimitError{"all bodies", "blocks times locals", 9, 10}},
		"all br_tables": {twice(table), func(l *Limits) { l.TotalBranchTargets = 7 }, LimitError{"all bodies", "branch targets", 7, 8}},
		"all loops":     {twice("\x03\x40\x0b\x20\x00"), func(l *Limits) { l.TotalLoops = 1 }, LimitError{"all bodies", "loops", 1, 2}},
		"memory":        {v.with(secMemory, vec("\x00\x05")), func(l *Limits) { l.MemoryPages = 4 }, LimitError{"module", "memory pages", 4, 5}},
		"table entries": {v, func(l *Limits) { l.TableEntries = 1 }, LimitError{"module", "table entries", 1, 2}},
	} {
		limits := DefaultLimits()
		tt.limit(&limits)
		_, err := Weave(tt.s.wasm(), limits)
		var got *LimitError
		if !errors.As(err, &got) || *got != tt.want {
			t.Errorf("%s: want %v, got %v", name, &tt.want, err)
		}
	}
	if _, err := Weave(v.wasm(), Limits{}); err == nil {
		t.Error("limits of zero allow a module")
	}
}
